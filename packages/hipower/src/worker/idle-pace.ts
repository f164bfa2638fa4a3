import { performance } from 'node:perf_hooks';
import { Counter } from '../layout/channel-memory.js';

/** A READ that found nothing is repeated after this share of the time since the last find, so it is late by no more. */
const READ_PAUSE_SHARE = 1 / 16;

/**
 * When a side that found nothing looks again. For `spinMs` after the last find the loop turns, and gives its processor
 * to others in between (`ProtocolContext.look`); a look at local memory is made in every turn, a READ after a pause that grows with the time
 * nothing was found. Later it looks on a timer, at pauses that double up to `maxIdleMs`. Nobody else can tell it of a
 * one-sided write: that is what the protocol saves the other side.
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
    /** Asks for another turn, though there is nothing to do before it. */
    private readonly lookAgain: () => void,
  ) {}

  /** Whether to look now; where not, a turn is asked for when it is time. */
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

  /** Something was found: look again at once. */
  found(): void {
    this.#lastFind = performance.now();
    this.#dueAt = 0;
    this.#pauseMs = 0;
  }

  /** Nothing was found: asks for a turn, now or later. */
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

  /** The application did something: no reason to sleep any longer. */
  interrupt(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
