import { AbortError } from './errors.js';

interface Waiting {
  readonly bytes: Uint8Array;
  /** Slots that it needs. */
  readonly slots: number;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Messages that wait for room, in the order of the calls. A message is sent when there is room for all of it: then its
 * fragments follow each other without a gap, and until then it can be withdrawn.
 */
export class WriteQueue {
  #waiting: Waiting[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Slots that the next message needs; 0: there is no message. */
  get needed(): number {
    return this.#waiting[0]?.slots ?? 0;
  }

  /**
   * Resolves when the message was sent. `onGone`: it was withdrawn, and the next one may be sent.
   * @throws AbortError; then it was not sent and will not be
   */
  add(bytes: Uint8Array, slots: number, signal: AbortSignal | undefined, onGone: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== one);
        reject(new AbortError('The write', signal!));
        onGone();
      };
      const settled = (): void => signal?.removeEventListener('abort', onAbort);
      const one: Waiting = {
        bytes,
        slots,
        resolve: () => {
          settled();
          resolve();
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(one);
    });
  }

  /** Sends the next message with `put`. */
  sendNext(put: (bytes: Uint8Array) => void): void {
    const { bytes, resolve } = this.#waiting.shift()!;
    put(bytes);
    resolve();
  }

  /** Rejects all waiting messages; they are not sent. */
  fail(error: unknown): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(error);
  }
}
