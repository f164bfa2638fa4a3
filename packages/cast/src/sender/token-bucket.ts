import { pause, SerialQueue } from '@rdmc/common';

/** Lets so many bytes a second pass. What is taken beyond what is there is waited for afterwards by the next one. */
export class TokenBucket {
  /** When the last bytes are paid for, in the milliseconds of `performance.now`. */
  #paidAt = 0;
  readonly #turns = new SerialQueue();

  constructor(private readonly bytesPerSecond: number | undefined) {}

  /** In the order of the calls. Returns at once where the signal is aborted. */
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
