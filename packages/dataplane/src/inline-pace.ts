import { performance } from 'node:perf_hooks';
import { INLINE_TURN_MS } from './constants.js';

/**
 * Whether work in the application's thread may continue in the current turn of the event loop. A protocol that sends
 * again at each completion may get the next completion at once, and so on: timers (and with them leases) and messages
 * of other members would wait. So such a chain is interrupted after INLINE_TURN_MS.
 */
export class InlinePace {
  /** Time of the first work in the current turn of the event loop; undefined before that work. */
  #began: number | undefined;

  mayGoOn(): boolean {
    const now = performance.now();
    if (this.#began === undefined) {
      this.#began = now;
      setImmediate(this.#nextTurn);
    }
    return now - this.#began < INLINE_TURN_MS;
  }

  readonly #nextTurn = (): void => {
    this.#began = undefined;
  };
}
