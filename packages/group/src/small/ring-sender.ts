import type { RingUnits } from './layout.js';
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
  /** 1: the receiver was told that the full ring follows. */
  GROWN: 5,
} as const;
export const SENDER_WORDS = 6;

/** What a root knows of the ring of one receiver. Pure; the counters are drawn in `layout.ts`. */
export class RingSender extends RingEnd {
  constructor(rings: RingUnits, maxBatches?: number, state: Uint32Array = new Uint32Array(SENDER_WORDS)) {
    super(state, rings, maxBatches);
  }

  get isGrown(): boolean {
    return this.state[State.GROWN] === 1;
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

  /**
   * Units of the next batch, if entries up to `head` are in the root's rings; 0: none, or it has to wait.
   * @param grownAt entries from there on are in the full ring: a batch does not go across
   */
  next(head: number, grownAt?: number): number {
    if (!this.#mayPost) return 0;
    const units = (head - this.sent) >>> 0;
    return grownAt === undefined || this.isGrown ? units : Math.min(units, (grownAt - this.sent) >>> 0);
  }

  /** Whether the next batch is the empty one, behind which the full ring follows. */
  mayGrow(grownAt: number): boolean {
    return !this.isGrown && this.sent === grownAt && this.#mayPost;
  }

  /** The empty batch was posted. */
  grew(): void {
    this.state[State.GROWN] = 1;
    this.posted(0);
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

  get #mayPost(): boolean {
    const { maxBatches } = this;
    return this.#unfinished(State.COMPLETED) < maxBatches && this.#unfinished(State.TAKEN) < maxBatches;
  }

  #unfinished(count: number): number {
    return (this.batches - this.state[count]!) >>> 0;
  }
}
