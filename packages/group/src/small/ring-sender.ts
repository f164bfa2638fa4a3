import { RingEnd } from './ring-end.js';

/** The other side wrote an invalid counter. */
export class CounterViolation extends Error {
  override readonly name = 'CounterViolation';
}

/** Words of the state of a {@link RingSender}: counts modulo 2^32. */
const State = {
  /** Position behind the last unit that was written. */
  SENT: 0,
  /** Position up to which the receiver's ring is free again. */
  TAIL: 1,
  /** Batches that were posted, that the receiver has acknowledged, and whose requests have completed here. */
  BATCHES: 2,
  TAKEN: 3,
  COMPLETED: 4,
} as const;
export const SENDER_WORDS = 5;

/** What a root knows of the ring of one receiver. Pure; the counters are drawn in `layout.ts`. */
export class RingSender extends RingEnd {
  constructor(units: number, maxBatches?: number, state: Uint32Array = new Uint32Array(SENDER_WORDS)) {
    super(state, units, maxBatches);
  }

  /** Position behind the last unit that was written to the receiver. */
  get sent(): number {
    return this.state[State.SENT]!;
  }

  /** Position up to which the receiver's ring is free again. */
  get tail(): number {
    return this.state[State.TAIL]!;
  }

  /** Batches that were posted, modulo 2^32. */
  get batches(): number {
    return this.state[State.BATCHES]!;
  }

  /** Whether a request has not completed. */
  get isBusy(): boolean {
    return this.batches !== this.state[State.COMPLETED];
  }

  /** Units of the next batch, if entries up to `head` are in the root's ring; 0: none, or it has to wait. */
  next(head: number): number {
    if (this.#unfinished(State.COMPLETED) >= this.maxBatches) return 0;
    if (this.#unfinished(State.TAKEN) >= this.maxBatches) return 0;
    return (head - this.sent) >>> 0;
  }

  /** A batch of that many units was posted. */
  posted(units: number): void {
    this.state[State.SENT]! += units;
    this.state[State.BATCHES]! += 1;
  }

  /** The oldest batch that had not completed has completed. */
  completed(): void {
    this.state[State.COMPLETED]! += 1;
  }

  /** An ack arrived. @throws CounterViolation for more batches or units than were sent, and for fewer than before */
  acknowledged(immediate: number): void {
    const batches = ((immediate >>> 16) - this.state[State.TAKEN]!) & 0xffff;
    const granules = ((immediate & 0xffff) - Math.floor(this.tail / this.granule)) & 0xffff;
    const units = granules * this.granule;
    const unread = (this.sent - this.tail) >>> 0;
    if (batches > this.#unfinished(State.TAKEN) || units > Math.min(unread, this.units)) {
      throw new CounterViolation(
        `acknowledged ${batches} batches and ${units} units, of ${this.#unfinished(State.TAKEN)} batches and ${unread} units`,
      );
    }
    this.state[State.TAKEN]! += batches;
    this.state[State.TAIL]! += units;
  }

  #unfinished(count: number): number {
    return (this.batches - this.state[count]!) >>> 0;
  }
}
