import { TickClock } from './tick-clock.js';

/**
 * Calls back once when nothing was heard for `limitMs`. Counted by a `TickClock`, so a process that was stopped or busy does
 * not blame the others for it. Its owner stops it.
 */
export class SilenceTimer {
  readonly #clock: TickClock;
  #silentMs = 0;

  /** @param tickMs how often it looks, in milliseconds; it calls back up to one tick late */
  constructor(
    tickMs: number,
    private readonly limitMs: number,
    private readonly onSilent: () => void,
  ) {
    this.#clock = new TickClock(tickMs, (elapsedMs) => this.#tick(elapsedMs));
  }

  /** A sign of life: counts from 0 again. */
  heard(): void {
    this.#silentMs = 0;
  }

  /** From now on it does not keep the process alive. */
  unref(): void {
    this.#clock.unref();
  }

  /** It will not call back any more. Idempotent. */
  stop(): void {
    this.#clock.stop();
  }

  #tick(elapsedMs: number): void {
    this.#silentMs += elapsedMs;
    if (this.#silentMs < this.limitMs) return;
    this.stop();
    this.onSilent();
  }
}
