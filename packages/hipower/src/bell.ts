import { HiPowerError } from './errors.js';

/** Wakes all who wait, now or with an error. */
export class Bell {
  #waiting: { resolve: () => void; reject: (error: unknown) => void }[] = [];

  /** Resolves at the next `ring`. @throws HiPowerError ERR_RDMC_ABORTED */
  wait(what: string, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting = this.#waiting.filter((one) => one !== entry);
        reject(
          new HiPowerError('ERR_RDMC_ABORTED', `${what} was aborted by its signal`, {
            cause: signal!.reason,
          }),
        );
      };
      const settle = (action: () => void) => (): void => {
        signal?.removeEventListener('abort', onAbort);
        action();
      };
      const entry = {
        resolve: settle(resolve),
        reject: (error: unknown) => settle(() => reject(error))(),
      };
      if (signal?.aborted) {
        onAbort();
        return;
      }
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(entry);
    });
  }

  ring(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { resolve } of waiting) resolve();
  }
}
