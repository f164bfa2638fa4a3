import type { ComparisonKind, FilterRule } from '@rdmc/cast';

/** The checked options that say which entries are sent. */
export interface Selection {
  readonly compare: ComparisonKind;
  readonly filters: readonly FilterRule[];
  readonly only: readonly Uint8Array[] | undefined;
  readonly update: boolean;
  readonly existing: boolean;
  readonly delete: boolean;
  readonly wholeFiles: boolean;
  /** Whether an interrupted cast is continued. */
  readonly resume: boolean;
  /** Whether owners and special mode bits are told, too. */
  readonly archive: boolean;
  /** Whether owners are told as numbers only. */
  readonly numericIds: boolean;
}
