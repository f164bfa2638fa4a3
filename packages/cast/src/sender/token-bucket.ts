/** Lets so many bytes a second pass. What is taken beyond what is there is waited for afterwards by the next one. */
export class TokenBucket {
  /** When the last bytes are paid for, in the milliseconds of `performance.now`. */
  #paidAt = 0;
  #turn: Promise<void> = Promise.resolve();

  constructor(private readonly bytesPerSecond: number | undefined) {}

  /** In the order of the calls. Returns at once where the signal is aborted. */
  take(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.bytesPerSecond === undefined) return Promise.resolve();
    const costMs = (bytes / this.bytesPerSecond) * 1000;
    this.#turn = this.#turn.then(async () => {
      const now = performance.now();
      const start = Math.max(now, this.#paidAt);
      await sleep(start - now, signal);
      this.#paidAt = start + costMs;
    });
    return this.#turn;
  }
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (milliseconds <= 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimeout(over, milliseconds);
    signal.addEventListener('abort', over, { once: true });
  });
}
