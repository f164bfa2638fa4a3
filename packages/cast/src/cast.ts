import { anySignal } from '@rdmc/common';
import type { CastOptions } from './cast-options.js';
import type { CastProgress } from './cast-progress.js';
import { CastRun } from './cast-run.js';
import type { CastSummary } from './cast-summary.js';
import { type CheckedCastOptions, checkCastOptions } from './checked-cast-options.js';
import { Latest } from './latest.js';
import { checkPaths } from './paths-option.js';

/**
 * A cast in progress. Iterating gives snapshots of its progress, about five a second; a newer snapshot replaces one
 * that was not read. Iterating is optional, and allows one consumer.
 */
export class Cast implements AsyncIterable<CastProgress>, AsyncDisposable {
  readonly #progress: Latest<CastProgress>;
  readonly #controller: AbortController;

  /** @internal */
  constructor(
    progress: Latest<CastProgress>,
    controller: AbortController,
    /**
     * The outcome, also where some receivers failed. Rejects with a CastError where no receiver got anything, with
     * `summary` if receivers were tried; and with an AbortError.
     */
    readonly finished: Promise<CastSummary>,
  ) {
    this.#progress = progress;
    this.#controller = controller;
    // The caller may look at it after it has rejected.
    finished.catch(() => {});
  }

  /**
   * Ends the cast: receivers remove incomplete files. `finished` then rejects with an AbortError. Has no effect on a
   * cast that has finished.
   */
  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** Aborts a cast that is in progress, and resolves when everything is closed. */
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
 * the last component of their names. The cast starts immediately.
 *
 * @throws CastError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_KEY_REQUIRED, ERR_RDMC_DUPLICATE_HOST;
 *   MeshError ERR_RDMC_MESH_WEAK_KEY. Later errors reject `finished`
 */
export function castFiles(paths: readonly (string | Uint8Array)[], options: CastOptions): Cast {
  const checked = checkCastOptions(options);
  return startCast(checkPaths(paths), checked);
}

/** Starts a cast of paths, or of an input in the options. */
export function startCast(paths: readonly Uint8Array[], checked: CheckedCastOptions): Cast {
  const latest = new Latest<CastProgress>();
  const controller = new AbortController();
  const signal = checked.signal ? anySignal(checked.signal, controller.signal) : controller.signal;
  const run = new CastRun(paths, { ...checked, signal }, latest);
  return new Cast(latest, controller, run.run());
}

/** {@link castFiles} with one file or directory. */
export function castFile(path: string | Uint8Array, options: CastOptions): Cast {
  return castFiles([path], options);
}
