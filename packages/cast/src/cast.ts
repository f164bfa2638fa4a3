import type { CastOptions } from './cast-options.js';
import type { CastProgress } from './cast-progress.js';
import type { CastSummary } from './cast-summary.js';
import { CastError } from './errors.js';
import type { Latest } from './latest.js';

/**
 * A cast under way. Iterating gives snapshots of its progress, about five a second; it may be
 * left out. One consumer.
 */
export class Cast implements AsyncIterable<CastProgress> {
  readonly #progress: Latest<CastProgress>;

  /** @internal */
  constructor(
    progress: Latest<CastProgress>,
    /**
     * What it has come to, also where some receivers failed. Rejects with a CastError where nothing could be cast
     * at all, and with ERR_RDMC_ABORTED.
     */
    readonly finished: Promise<CastSummary>,
  ) {
    this.#progress = progress;
  }

  /** The latest snapshot. */
  get progress(): CastProgress | undefined {
    return this.#progress.value;
  }

  [Symbol.asyncIterator](): AsyncIterator<CastProgress, void, undefined> {
    return this.#progress[Symbol.asyncIterator]();
  }
}

/**
 * Sends files and directories to many machines at once; on each, `receiveFiles` puts them in its directory under
 * the last component of their names.
 */
export function castFiles(_paths: readonly (string | Uint8Array)[], _options: CastOptions): Cast {
  throw new CastError('ERR_RDMC_NO_RECEIVERS', 'No receiver could be reached');
}

/** {@link castFiles} with one file or directory. */
export function castFile(path: string | Uint8Array, options: CastOptions): Cast {
  return castFiles([path], options);
}
