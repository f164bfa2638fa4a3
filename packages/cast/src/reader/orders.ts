import type { CastProblem } from '../cast-summary.js';
import type { FilterRule } from '../filters/filter-rule.js';
import type { StreamTotals } from '../stream/records.js';
import type { InputOrder } from './input-stream.js';

export interface SurveyOrder {
  readonly paths: readonly Uint8Array[];
  readonly rules: readonly FilterRule[];
  /** Only these paths, relative to the only one of `paths`. */
  readonly listed: readonly Uint8Array[] | undefined;
  /** A file of unknown length, in the place of paths. */
  readonly input?: InputOrder | undefined;
}

export interface FillOrder {
  /** Handle of the region to write to, and the length of a message in it. */
  readonly region: number;
  readonly byteLength: number;
  readonly sequence: number;
  /** Messages before this one will not be requested again. */
  readonly forgetBelow: number;
}

/** What the streams of a cast contain. */
export interface CastReport {
  readonly totals: StreamTotals;
  /** Entries that are in no stream. */
  readonly unsent: StreamTotals;
  readonly problems: readonly CastProblem[];
  readonly problemCount: number;
}

/** An entry, described for people. */
export interface EntryFacts {
  readonly path: string;
  readonly kind: 'file' | 'directory' | 'link';
  readonly bytes: number;
}
