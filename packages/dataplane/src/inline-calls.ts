import { errorFacts, ProtocolError } from './errors.js';
import type { InlinePace } from './inline-pace.js';

/** Calls to a protocol in the same thread. An error of the protocol becomes a ProtocolError, as with a ring. */
export class InlineCalls {
  /** The reject functions of calls whose answer comes later. */
  readonly #waiting = new Set<(error: Error) => void>();

  /** @param onSettled called when the answer to `pending` may have changed */
  constructor(
    private readonly pace: InlinePace,
    private readonly onSettled: () => void,
  ) {}

  get pending(): boolean {
    return this.#waiting.size > 0;
  }

  /** An immediate answer is delivered, also if the protocol ends afterwards. */
  run(handler: () => unknown, own: (answer: unknown) => unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => {
        const { code, message } = errorFacts(error);
        reject(new ProtocolError(code, message, { cause: error }));
      };
      try {
        const result = handler();
        if (result instanceof Promise) this.#wait(result.then(own).then(resolve, fail), reject);
        else this.#answer(resolve, own(result));
      } catch (error) {
        fail(error);
      }
    });
  }

  rejectAll(error: Error): void {
    for (const reject of this.#waiting) reject(error);
    this.#waiting.clear();
  }

  /**
   * Without this, an application that calls again at each answer would keep the microtask queue busy without an end.
   */
  #answer(resolve: (answer: unknown) => void, answer: unknown): void {
    if (this.pace.mayGoOn()) resolve(answer);
    else setImmediate(resolve, answer);
  }

  #wait(settled: Promise<void>, reject: (error: Error) => void): void {
    this.#waiting.add(reject);
    void settled.then(() => {
      this.#waiting.delete(reject);
      this.onSettled();
    });
  }
}
