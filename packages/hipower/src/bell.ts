import { AbortError } from './errors.js';

/** Wakes all who wait, now or with an error. A wait without a signal makes nothing but its promise. */
export class Bell {
  #waiting: (() => void)[] = [];
  readonly #add = (resolve: () => void): void => void this.#waiting.push(resolve);

  /** Resolves at the next `ring`. @throws AbortError */
  wait(what: string, signal?: AbortSignal): Promise<void> {
    return signal ? this.#waitUnless(signal, what) : new Promise(this.#add);
  }

  ring(): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #waitUnless(signal: AbortSignal, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting = this.#waiting.filter((one) => one !== onRing);
        reject(new AbortError(what, signal));
      };
      const onRing = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      if (signal.aborted) {
        onAbort();
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(onRing);
    });
  }
}
