/**
 * Calls back once when nothing was heard for `limitMs`. Counted in ticks of this process's event loop: however late a tick
 * comes, because the process was stopped or busy, it counts for one. The rest of that time says nothing about the others,
 * whose words may lie unread in the sockets. Its owner stops it.
 */
export class SilenceTimer {
  readonly #timer: NodeJS.Timeout;
  #silentMs = 0;

  /** @param tickMs length of a tick, in milliseconds */
  constructor(
    private readonly tickMs: number,
    private readonly limitMs: number,
    private readonly onSilent: () => void,
  ) {
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  /** A sign of life: counts from 0 again. */
  heard(): void {
    this.#silentMs = 0;
  }

  /** From now on it does not keep the process alive. */
  unref(): void {
    this.#timer.unref();
  }

  /** It will not call back any more. Idempotent. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    this.#silentMs += this.tickMs;
    if (this.#silentMs < this.limitMs) return;
    this.stop();
    this.onSilent();
  }
}
