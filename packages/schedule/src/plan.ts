import type { Neighbours, Transfer } from './transfer.js';

/** Steps `start` ≤ step < `end`. */
export interface StepRange {
  readonly start: number;
  readonly end: number;
}

/**
 * What each algorithm provides. Every method is a pure function of its arguments and of
 * (nodes, blocks, racks), and costs at most O(log nodes) for one step of one rank, so that a member
 * needs nobody else's table.
 */
export interface Plan {
  readonly steps: number;
  /** What `rank` sends in `step`. Needs 0 ≤ step < steps. */
  outgoing(rank: number, step: number): Transfer | undefined;
  /** What `rank` receives in `step`. Needs 0 ≤ step < steps. */
  incoming(rank: number, step: number): Transfer | undefined;
  /** The ranks that may send in `step`, ascending: not all of them must. */
  senders(step: number): Iterable<number>;
  /** Outside this range `rank` sends nothing; it is at most a small multiple of what it does send. */
  sendRange(rank: number): StepRange;
  /** Outside this range `rank` receives nothing. */
  receiveRange(rank: number): StepRange;
  neighbours(rank: number): Neighbours;
}

export const NO_STEPS: StepRange = { start: 0, end: 0 };

/** The integers `start` ≤ i < `end`. */
export function* range(start: number, end: number): Generator<number, void, undefined> {
  for (let i = start; i < end; i += 1) yield i;
}
