import type { FilterRule } from '../filters/filter-rule.js';

/** How receivers decide whether they have a file: by size and time, by contents, or never. */
export const comparisons = ['size-time', 'content', 'none'] as const;
/** How receivers decide whether they have a file: one of `comparisons`. */
export type ComparisonKind = (typeof comparisons)[number];

/** What receivers do with the manifest. */
export interface ComparisonPolicy {
  readonly by: ComparisonKind;
  /** Files that are newer at the receiver stay. */
  readonly update: boolean;
  /** Nothing is created, only updated. */
  readonly existing: boolean;
  /** Entries of cast directories that the sender does not have are removed at the end. */
  readonly remove: boolean;
  /** Of large files that changed, only the blocks that differ are sent. */
  readonly delta: boolean;
  /** What interrupted casts have left is continued; this one leaves something if it is interrupted. */
  readonly resume: boolean;
  /** Entries have attributes: see `archive/layout.ts` (default false). */
  readonly archive?: boolean | undefined;
  /** Nothing is changed. */
  readonly dryRun: boolean;
  /** Excluded entries are not removed. */
  readonly rules: readonly FilterRule[];
}
