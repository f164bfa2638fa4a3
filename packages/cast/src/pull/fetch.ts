import { Transfer } from '../transfer.js';
import { checkFetchOptions, type FetchOptions } from './fetch-options.js';
import { FetchSession } from './fetch-session.js';
import type { FetchProgress, FetchSummary } from './fetch-summary.js';

/**
 * A fetch in progress. Iterating gives snapshots of its progress, about five a second; a newer snapshot replaces one that
 * was not read. Iterating is optional, and allows one consumer. A later fetch continues one that was aborted.
 */
export class Fetch extends Transfer<FetchProgress, FetchSummary> {
  /** The outcome, also where some entries are missing. Rejects with a CastError or an AbortError where the fetch ended early. */
  declare readonly finished: Promise<FetchSummary>;
}

/**
 * Fetches a file or a directory from `serveFiles`, together with all other fetchers of the same name. Every piece of at
 * most 1 MiB is checked against the list of hashes that the server sends over its own connection, also where another fetcher
 * forwarded the piece.
 *
 * @throws CastError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_KEY_REQUIRED, ERR_RDMC_UNSAFE_PATH. Later
 *   errors reject `finished`
 */
export function fetchFiles(options: FetchOptions): Fetch {
  const checked = checkFetchOptions(options);
  return new Fetch(checked.signal, (signal, progress) =>
    new FetchSession({ ...checked, signal }, progress).run().finally(() => progress.end()),
  );
}
