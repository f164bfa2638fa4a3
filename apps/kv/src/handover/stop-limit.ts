import { HANDOVER_STOP_MAX_MS, HANDOVER_STOP_MS } from '../limits.js';

/**
 * How long the slots of a hand-over may be without a server before the source gives up. Twice as long after one that took longer, and
 * half as long after one that ended well: on a busy machine every hand-over would be given up otherwise.
 */
export class StopLimit {
  #ms: number;

  constructor(private readonly leastMs = HANDOVER_STOP_MS) {
    this.#ms = leastMs;
  }

  get ms(): number {
    return this.#ms;
  }

  exceeded(): void {
    this.#ms = Math.min(HANDOVER_STOP_MAX_MS, 2 * this.#ms);
  }

  met(): void {
    this.#ms = Math.max(this.leastMs, this.#ms / 2);
  }
}
