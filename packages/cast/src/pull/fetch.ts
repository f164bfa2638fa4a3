import { anySignal } from '@rdmc/common';
import { Latest } from '../latest.js';
import { checkFetchOptions, type FetchOptions } from './fetch-options.js';
import { FetchSession } from './fetch-session.js';
import type { FetchProgress, FetchSummary } from './fetch-summary.js';

/**
 * A fetch in progress. Iterating gives snapshots of its progress, about five a second; a newer snapshot replaces one that
 * was not read. Iterating is optional, and allows one consumer.
 */
export class Fetch implements AsyncIterable<FetchProgress>, AsyncDisposable {
  readonly #progress: Latest<FetchProgress>;
  readonly #controller: AbortController;

  /** @internal */
  constructor(
    progress: Latest<FetchProgress>,
    controller: AbortController,
    /** The outcome, also where some entries are missing. Rejects with a CastError or an AbortError where the fetch ended early. */
    readonly finished: Promise<FetchSummary>,
  ) {
    this.#progress = progress;
    this.#controller = controller;
    // The caller may look at it after it has rejected.
    finished.catch(() => {});
  }

  /** Ends the fetch: incomplete files are removed, complete ones stay. A fetch that has finished is not affected. */
  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** Aborts a fetch that is in progress, and resolves when everything is closed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.abort();
    await this.finished.catch(() => {});
  }

  /** The latest snapshot. */
  get progress(): FetchProgress | undefined {
    return this.#progress.value;
  }

  [Symbol.asyncIterator](): AsyncIterator<FetchProgress, undefined> {
    return this.#progress[Symbol.asyncIterator]();
  }
}

/**
 * Fetches a file or a directory from `serveFiles`, together with all other fetchers of the same name. Every piece of at
 * most 1 MiB is checked against the list of hashes that the server sends over its own connection, whichever member forwarded it.
 *
 * @throws CastError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_KEY_REQUIRED, ERR_RDMC_UNSAFE_PATH. Later
 *   errors reject `finished`
 */
export function fetchFiles(options: FetchOptions): Fetch {
  const checked = checkFetchOptions(options);
  const latest = new Latest<FetchProgress>();
  const controller = new AbortController();
  const signal = checked.signal ? anySignal(checked.signal, controller.signal) : controller.signal;
  const finished = new FetchSession({ ...checked, signal }, latest).run().finally(() => latest.end());
  return new Fetch(latest, controller, finished);
}
