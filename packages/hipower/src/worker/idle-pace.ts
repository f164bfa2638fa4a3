import { performance } from 'node:perf_hooks';
import { yieldProcessor } from '@rdmc/verbs';
import { Counter } from '../layout/channel-memory.js';

/**
 * When a side that found nothing looks again. For `spinMs` after the last find it looks in every turn of the loop,
 * offering its processor to others in between; then on a timer, at pauses that double up to `maxIdleMs`. Nobody
 * else can tell it of a one-sided write: that is what the protocol saves the other side.
 */
export class IdlePace {
  #lastFind = performance.now();
  #pauseMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly spinMs: number,
    private readonly maxIdleMs: number,
    private readonly counters: Float64Array,
    /** Asks the loop for another turn. */
    private readonly wake: () => void,
  ) {}

  /** It waits for its timer. */
  get pausing(): boolean {
    return this.#timer !== undefined;
  }

  /** Something was found: look again at once. */
  found(): void {
    this.#lastFind = performance.now();
    this.#pauseMs = 0;
  }

  /** Nothing was found: asks for a turn, now or later. */
  foundNothing(): void {
    if (this.#timer) return;
    if (performance.now() - this.#lastFind < this.spinMs) {
      yieldProcessor();
      this.wake();
      return;
    }
    this.#pauseMs = Math.min(this.maxIdleMs, Math.max(1, this.#pauseMs * 2));
    this.counters[Counter.PAUSES]! += 1;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.wake();
    }, this.#pauseMs);
  }

  /** The application did something: no reason to wait any longer. */
  interrupt(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
