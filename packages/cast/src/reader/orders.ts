import type { CastProblem } from '../cast-summary.js';
import type { StreamTotals } from '../stream/records.js';

export interface FillOrder {
  /** Handle of the region to write to, and how much of it is a message. */
  readonly region: number;
  readonly byteLength: number;
  readonly sequence: number;
  /** No message before this one will be asked for again. */
  readonly forgetBelow: number;
}

/** What was sent. */
export interface CastReport {
  readonly totals: StreamTotals;
  /** Messages of the whole stream; undefined where it has not been read to its end. */
  readonly messages: number | undefined;
  readonly problems: readonly CastProblem[];
  readonly problemCount: number;
}
