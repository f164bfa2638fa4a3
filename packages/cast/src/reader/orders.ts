import type { CastProblem } from '../cast-summary.js';
import type { StreamTotals } from '../stream/records.js';

export interface FillOrder {
  /** Handle of the region to write to, and the length of a message in it. */
  readonly region: number;
  readonly byteLength: number;
  readonly sequence: number;
  /** Messages before this one will not be requested again. */
  readonly forgetBelow: number;
}

/** What the stream contains. */
export interface CastReport {
  readonly totals: StreamTotals;
  /** Messages of the whole stream; undefined where it has not been read to its end. */
  readonly messages: number | undefined;
  readonly problems: readonly CastProblem[];
  readonly problemCount: number;
}
