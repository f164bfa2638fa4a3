import { AbortError } from './errors.js';

/** Wakes all waiters. Without a signal, a wait allocates only its promise. */
export class Notifier {
  #waiting: (() => void)[] = [];
  readonly #add = (resolve: () => void): void => void this.#waiting.push(resolve);

  /** Resolves at the next `notify`. @throws AbortError */
  wait(what: string, signal?: AbortSignal): Promise<void> {
    return signal ? this.#waitUnless(signal, what) : new Promise(this.#add);
  }

  notify(): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #waitUnless(signal: AbortSignal, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting = this.#waiting.filter((one) => one !== onNotify);
        reject(new AbortError(what, signal));
      };
      const onNotify = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      if (signal.aborted) {
        onAbort();
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(onNotify);
    });
  }
}
