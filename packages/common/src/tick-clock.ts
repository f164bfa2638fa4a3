/**
 * Time in which this process could listen to others, in milliseconds. It is counted in ticks of the event loop: however
 * late a tick comes, because the process was stopped or its loop was busy, it counts for one interval at most. The rest
 * says nothing about the others, whose words may lie unread in the sockets.
 */
export class TickClock {
  readonly #timer: NodeJS.Timeout;
  #last = performance.now();

  /** @param onTick gets how much has passed since the tick before, from 0 to `intervalMs` */
  constructor(
    private readonly intervalMs: number,
    private readonly onTick: (elapsedMs: number) => void,
  ) {
    this.#timer = setInterval(() => this.#tick(), intervalMs);
  }

  /** From now on it does not keep the process alive. */
  unref(): void {
    this.#timer.unref();
  }

  /** No tick follows. Idempotent. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const now = performance.now();
    const elapsedMs = now - this.#last;
    this.#last = now;
    this.onTick(Math.min(elapsedMs, this.intervalMs));
  }
}
