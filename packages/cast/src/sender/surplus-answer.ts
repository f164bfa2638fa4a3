import { MAX_SURPLUS } from '../constants.js';
import type { SurplusFrame } from '../control/frames.js';
import { protocolError } from '../errors.js';

/**
 * What a receiver has beside the entries of the manifest, what interrupted casts have left there, and how much room there is
 * for what it lacks.
 */
export class SurplusAnswer {
  /** Paths that it has and the sender does not, in a dry run. */
  readonly paths: string[] = [];
  /** Bytes of an interrupted cast that are not sent again. */
  resumedBytes = 0;
  /** Bytes that the files which it lacks may take; undefined where it did not say so. */
  roomBytes: number | undefined;
  #reported: (() => void) | undefined;

  /** Expects a report; resolves when it is complete. */
  expect(): Promise<void> {
    return new Promise((resolve) => {
      this.#reported = resolve;
    });
  }

  /** @throws CastError ERR_RDMC_CAST_PROTOCOL */
  take(name: string, { paths, last, resumedBytes = 0, roomBytes }: SurplusFrame): void {
    if (!this.#reported || this.paths.length + paths.length > MAX_SURPLUS)
      throw protocolError(`${name} reported surplus entries that it was not asked for`);
    for (const path of paths) this.paths.push(path);
    if (!last) return;
    this.resumedBytes = resumedBytes;
    this.roomBytes = roomBytes;
    this.#reported();
    this.#reported = undefined;
  }
}
