import { performance } from 'node:perf_hooks';
import { Counter } from '../layout/channel-memory.js';

/** A fruitless READ is repeated after this share of the time since the last find, so it is late by that share at most. */
const READ_PAUSE_SHARE = 1 / 16;

/**
 * When a side looks again after a fruitless look. For `spinMs` after the last find the loop turns, and yields its processor
 * in between (`ProtocolContext.look`); it looks at local memory in every turn, and posts a READ after a pause that grows
 * with the time since the last find. Later it looks on a timer, with pauses that double up to `maxIdleMs`. The other side
 * does not notify it of a one-sided write: the protocol saves that cost.
 */
export class IdlePace {
  #lastFind = performance.now();
  #dueAt = 0;
  #pauseMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly spinMs: number,
    private readonly maxIdleMs: number,
    /** A look is a READ of the peer's memory. */
    private readonly isRemote: boolean,
    private readonly counters: Float64Array,
    /** Requests another turn, without work before it. */
    private readonly lookAgain: () => void,
  ) {}

  /** Whether to look now; if false, a turn is scheduled for later. */
  isDue(): boolean {
    if (this.#timer) return false;
    if (this.#dueAt === 0 || performance.now() >= this.#dueAt) return true;
    this.lookAgain();
    return false;
  }

  /** The next look waits for a timer. */
  get isResting(): boolean {
    return this.#timer !== undefined;
  }

  /** The look found something: look again at once. */
  found(): void {
    this.#lastFind = performance.now();
    this.#dueAt = 0;
    this.#pauseMs = 0;
  }

  /** The look was fruitless: requests a turn, now or later. */
  foundNothing(): void {
    if (this.#timer) return;
    const now = performance.now();
    const idleMs = now - this.#lastFind;
    if (idleMs < this.spinMs) {
      if (this.isRemote) this.#dueAt = now + idleMs * READ_PAUSE_SHARE;
      this.lookAgain();
      return;
    }
    this.#dueAt = 0;
    this.#pauseMs = Math.min(this.maxIdleMs, Math.max(1, this.#pauseMs * 2));
    this.counters[Counter.PAUSES]! += 1;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.lookAgain();
    }, this.#pauseMs);
  }

  /** The application did something: ends the pause. */
  interrupt(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
