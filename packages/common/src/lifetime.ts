import { Deferred } from './deferred.js';

/**
 * How an object that holds resources says that it has ended. `signal` is aborted when the object can do nothing more; its
 * `reason` is the error that ended it, or the one that calls get after `close`. `closed` resolves, later, when everything the
 * object held is free; it never rejects.
 */
export class Lifetime {
  readonly #controller = new AbortController();
  /** A field, because the getter of an AbortController checks its receiver at each use. */
  readonly signal: AbortSignal = this.#controller.signal;
  readonly #closed = new Deferred<void>();

  /** Resolves after `free`. Never rejects. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** The object can do nothing more. The first reason counts. */
  end(reason: unknown): void {
    if (!this.signal.aborted) this.#controller.abort(reason);
  }

  /** Everything is free. */
  free(): void {
    this.#closed.resolve();
  }
}
