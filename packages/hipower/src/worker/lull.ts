import { performance } from 'node:perf_hooks';

/** Longer than the gaps in a stream of small messages, and shorter than a pause of a millisecond. */
const LULL_MS = 0.2;

/** Tells whether the worker has only made fruitless looks for a while. */
export class Lull {
  #since = 0;
  #isLong = false;

  get isLong(): boolean {
    return this.#isLong;
  }

  worked(): void {
    this.#since = 0;
    this.#isLong = false;
  }

  looked(): void {
    const now = performance.now();
    if (this.#since === 0) this.#since = now;
    this.#isLong = now - this.#since > LULL_MS;
  }
}
