import { ackOf, type RingUnits } from './layout.js';
import { RingEnd } from './ring-end.js';
import { CounterViolation } from './ring-sender.js';

/** Words of the state of a {@link RingReceiver}: counts modulo 2^32. */
const State = {
  /** Position behind the last entry that has arrived. */
  HEAD: 0,
  BATCHES: 1,
  /** The batches and the tail of the last ack; the tail is in whole granules. */
  ACKNOWLEDGED_BATCHES: 2,
  ACKNOWLEDGED_TAIL: 3,
  /** Of the full ring: {@link Growth}. */
  GROWTH: 4,
} as const;
export const RECEIVER_WORDS = 5;

/** `OFFERED`: the root may use the full ring. */
const Growth = { NONE: 0, OFFERED: 1, GROWN: 2 } as const;

/** The ring of a relay is free up to the tail that is further behind its head: its application's, or that of its children. */
export function freeOf(head: number, copied: number, relayed: number): number {
  return (head - Math.max((head - copied) >>> 0, (head - relayed) >>> 0)) >>> 0;
}

/** What a receiver knows of its ring. Pure; the counters are drawn in `layout.ts`. */
export class RingReceiver extends RingEnd {
  constructor(rings: RingUnits, maxBatches?: number, state: Uint32Array = new Uint32Array(RECEIVER_WORDS)) {
    super(state, rings, maxBatches);
  }

  get isGrown(): boolean {
    return this.state[State.GROWTH] === Growth.GROWN;
  }

  /** The root gets the address of the full ring. */
  offer(): void {
    this.state[State.GROWTH] = Growth.OFFERED;
  }

  /** Position behind the last entry that has arrived. */
  get head(): number {
    return this.state[State.HEAD]!;
  }

  /** Batches that have arrived, modulo 2^32. */
  get batches(): number {
    return this.state[State.BATCHES]!;
  }

  /**
   * A batch up to that position has arrived. The empty one marks where the full ring begins.
   * @throws CounterViolation if it overruns the ring, or is empty without an offer
   */
  arrived(position: number): void {
    const advance = (position - this.head) >>> 0;
    if (advance === 0 && this.state[State.GROWTH] === Growth.OFFERED) {
      this.state[State.GROWTH] = Growth.GROWN;
      this.state[State.BATCHES]! += 1;
      return;
    }
    const inUse = (this.head - this.state[State.ACKNOWLEDGED_TAIL]!) >>> 0;
    if (advance === 0 || advance > this.units - inUse) {
      throw new CounterViolation(
        `wrote ${advance} units into a ring of ${this.units}, of which ${inUse} were in use`,
      );
    }
    this.state[State.HEAD]! += advance;
    this.state[State.BATCHES]! += 1;
  }

  /** Whether an ack is due after entries up to `tail` were copied out. */
  isDue(tail: number): boolean {
    const batches = (this.batches - this.state[State.ACKNOWLEDGED_BATCHES]!) >>> 0;
    return batches >= this.maxBatches / 2 || this.#newUnits(tail) >= this.units / 4;
  }

  /** The immediate of the ack that is due. */
  acknowledge(tail: number): number {
    this.state[State.ACKNOWLEDGED_TAIL]! += this.#newUnits(tail);
    this.state[State.ACKNOWLEDGED_BATCHES] = this.batches;
    return ackOf(this.batches, this.state[State.ACKNOWLEDGED_TAIL]!, this.granule);
  }

  /** Units that were copied out since the last ack, in whole granules. */
  #newUnits(tail: number): number {
    const units = (tail - this.state[State.ACKNOWLEDGED_TAIL]!) >>> 0;
    return units - (units % this.granule);
  }
}
