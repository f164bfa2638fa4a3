import type { CastOptions } from './cast-options.js';
import type { CastProgress } from './cast-progress.js';
import { CastRun } from './cast-run.js';
import type { CastSummary } from './cast-summary.js';
import { type CheckedCastOptions, checkCastOptions } from './checked-cast-options.js';
import { GatheringCast } from './gather/gathering-cast.js';
import { checkPaths } from './paths-option.js';
import { Transfer } from './transfer.js';

/**
 * A cast in progress. Iterating gives snapshots of its progress, about five a second; a newer snapshot replaces one
 * that was not read. Iterating is optional, and allows one consumer. Receivers remove the incomplete files of a cast that
 * is aborted, or keep them for a cast that continues it.
 */
export class Cast extends Transfer<CastProgress, CastSummary> {
  /**
   * The outcome, also where some receivers failed. Rejects with a CastError where no receiver got anything, with
   * `summary` if receivers were tried; and with an AbortError.
   */
  declare readonly finished: Promise<CastSummary>;
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
  return new Cast(checked.signal, (signal, progress) => {
    const { gathering } = checked;
    const options = { ...checked, signal };
    return gathering
      ? new GatheringCast(paths, { ...options, gathering }, progress).run()
      : new CastRun(paths, options, progress).run();
  });
}

/** {@link castFiles} with one file or directory. */
export function castFile(path: string | Uint8Array, options: CastOptions): Cast {
  return castFiles([path], options);
}
