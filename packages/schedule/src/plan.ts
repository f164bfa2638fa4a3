import type { Neighbours, Transfer } from './transfer.js';

/** Steps `start` ≤ step < `end`. */
export interface StepRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The functions of an algorithm. Every method is a pure function of its arguments and of
 * (nodes, blocks, racks), and costs at most O(log nodes) for one step of one rank, so that a member
 * does not need the tables of other members.
 */
export interface Plan {
  readonly steps: number;
  /** The transfer that `rank` sends in `step`. Needs 0 ≤ step < steps. */
  outgoing(rank: number, step: number): Transfer | undefined;
  /** The transfer that `rank` receives in `step`. Needs 0 ≤ step < steps. */
  incoming(rank: number, step: number): Transfer | undefined;
  /** The ranks that may send in `step`, ascending; not all of them need to send. */
  senders(step: number): Iterable<number>;
  /** The steps in which `rank` may send; their number is at most a small multiple of the sends. */
  sendRange(rank: number): StepRange;
  /** The steps in which `rank` may receive. */
  receiveRange(rank: number): StepRange;
  neighbours(rank: number): Neighbours;
}

export const NO_STEPS: StepRange = { start: 0, end: 0 };

/** The integers `start` ≤ i < `end`. */
export function* range(start: number, end: number): Generator<number, void, undefined> {
  for (let i = start; i < end; i += 1) yield i;
}
