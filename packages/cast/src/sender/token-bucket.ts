import { pause, SerialQueue } from '@rdmc/common';

/** Limits bytes per second. A call that takes more than is available passes, and the next call waits for it. */
export class TokenBucket {
  /** When the bytes taken so far are within the rate, in milliseconds of `performance.now`. */
  #paidAt = 0;
  readonly #turns = new SerialQueue();

  constructor(private readonly bytesPerSecond: number | undefined) {}

  /** Resolves in the order of the calls; without waiting where the signal is aborted. */
  take(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.bytesPerSecond === undefined) return Promise.resolve();
    const costMs = (bytes / this.bytesPerSecond) * 1000;
    return this.#turns.run(async () => {
      const now = performance.now();
      const start = Math.max(now, this.#paidAt);
      if (start > now) await pause(start - now, signal);
      this.#paidAt = start + costMs;
    });
  }
}
