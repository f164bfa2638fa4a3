import { performance } from 'node:perf_hooks';

/** The gaps of a stream of small messages are shorter. A pause of a millisecond is longer. */
const LULL_MS = 0.2;

/** Whether there has been nothing to do for a while but to look whether there is something to do. */
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
