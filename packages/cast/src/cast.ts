import { anySignal } from '@rdmc/common';
import type { CastOptions } from './cast-options.js';
import type { CastProgress } from './cast-progress.js';
import { CastRun } from './cast-run.js';
import type { CastSummary } from './cast-summary.js';
import { checkCastOptions } from './checked-cast-options.js';
import { Latest } from './latest.js';
import { checkPaths } from './paths-option.js';

/**
 * A cast under way. Iterating gives snapshots of its progress, about five a second; the latest wins, and it may be
 * left out. One consumer.
 */
export class Cast implements AsyncIterable<CastProgress>, AsyncDisposable {
  readonly #progress: Latest<CastProgress>;
  readonly #controller: AbortController;

  /** @internal */
  constructor(
    progress: Latest<CastProgress>,
    controller: AbortController,
    /**
     * What it has come to, also where some receivers failed. Rejects with a CastError where nothing could be cast
     * at all, then with `summary` if receivers were tried; and with an AbortError.
     */
    readonly finished: Promise<CastSummary>,
  ) {
    this.#progress = progress;
    this.#controller = controller;
    // The caller may look at it after it has rejected.
    finished.catch(() => {});
  }

  /**
   * Ends the cast: receivers remove what is half-done. `finished` then rejects with an AbortError; a cast that has finished
   * stays as it is.
   */
  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** Aborts the cast where it is under way, and resolves when nothing of it is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.abort();
    await this.finished.catch(() => {});
  }

  /** The latest snapshot. */
  get progress(): CastProgress | undefined {
    return this.#progress.value;
  }

  [Symbol.asyncIterator](): AsyncIterator<CastProgress, undefined> {
    return this.#progress[Symbol.asyncIterator]();
  }
}

/**
 * Sends files and directories to many machines at once; on each, `receiveFiles` puts them in its directory under
 * the last component of their names. Begins at once.
 *
 * @throws CastError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_KEY_REQUIRED, ERR_RDMC_DUPLICATE_HOST;
 *   MeshError ERR_RDMC_MESH_WEAK_KEY. Everything later rejects `finished`
 */
export function castFiles(paths: readonly (string | Uint8Array)[], options: CastOptions): Cast {
  const checked = checkCastOptions(options);
  const sources = checkPaths(paths);
  const latest = new Latest<CastProgress>();
  const controller = new AbortController();
  const signal = checked.signal ? anySignal(checked.signal, controller.signal) : controller.signal;
  const run = new CastRun(sources, { ...checked, signal }, latest);
  return new Cast(latest, controller, run.run());
}

/** {@link castFiles} with one file or directory. */
export function castFile(path: string | Uint8Array, options: CastOptions): Cast {
  return castFiles([path], options);
}
