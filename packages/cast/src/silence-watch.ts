import { HEARTBEAT_MS } from './constants.js';

/**
 * Counts how long the other end has said nothing, in ticks of this process: while this one is stopped or busy nothing
 * is counted, so a process that was asleep does not blame the others.
 */
export class SilenceWatch {
  readonly #timer: NodeJS.Timeout;
  #silentMs = 0;
  #last = performance.now();

  constructor(
    private readonly limitMs: number,
    private readonly onSilent: () => void,
  ) {
    this.#timer = setInterval(() => this.#tick(), HEARTBEAT_MS);
  }

  heard(): void {
    this.#silentMs = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const now = performance.now();
    this.#silentMs += Math.min(now - this.#last, 2 * HEARTBEAT_MS);
    this.#last = now;
    if (this.#silentMs < this.limitMs) return;
    this.stop();
    this.onSilent();
  }
}
