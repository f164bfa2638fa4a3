import { performance } from 'node:perf_hooks';
import { INLINE_TURN_MS } from './constants.js';

/**
 * Whether work in the application's thread may go on in the present turn of the event loop. Whoever sends again when a
 * completion is there has the next completion at once, and so on: timers, and with them leases, and what comes from other
 * members would have to wait. So such a chain is cut after INLINE_TURN_MS.
 */
export class InlinePace {
  /** When the event loop came to the first work in its present turn; undefined before that work. */
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
