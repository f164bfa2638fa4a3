import { anySignal } from '@rdmc/common';
import { Latest } from './latest.js';

/** What a cast and a fetch in progress have in common. */
export abstract class Transfer<Progress, Summary> implements AsyncIterable<Progress>, AsyncDisposable {
  /** The outcome. Rejects with a CastError, or with an AbortError. */
  readonly finished: Promise<Summary>;
  readonly #progress = new Latest<Progress>();
  readonly #controller = new AbortController();

  /**
   * @param signal of the options; ends it as `abort` does
   * @param run does it, and ends the progress
   * @internal
   */
  constructor(
    signal: AbortSignal | undefined,
    run: (signal: AbortSignal, progress: Latest<Progress>) => Promise<Summary>,
  ) {
    const own = this.#controller.signal;
    this.finished = run(signal ? anySignal(signal, own) : own, this.#progress);
    // The caller may look at it after it has rejected.
    this.finished.catch(() => {});
  }

  /** Ends it; `finished` then rejects with an AbortError. Has no effect when it has finished. */
  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** Aborts it if it is in progress, and resolves when everything is closed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.abort();
    await this.finished.catch(() => {});
  }

  /** The latest snapshot. */
  get progress(): Progress | undefined {
    return this.#progress.value;
  }

  /** Snapshots for one consumer. */
  [Symbol.asyncIterator](): AsyncIterator<Progress, undefined> {
    return this.#progress[Symbol.asyncIterator]();
  }
}
