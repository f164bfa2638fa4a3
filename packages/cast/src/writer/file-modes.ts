import { fchmodSync, fstatSync } from 'node:fs';
import { MODE_MASK } from '../constants.js';

/**
 * Modes of files in one temporary directory. The kernel clears mode bits according to the umask, or to the directory's
 * default access control list. The result for a mode is the same for every file, so it is read once.
 */
export class FileModes {
  /** By the requested mode: whether a new file has it. */
  readonly #kept = new Map<number, boolean>();

  /** Sets the mode of a file that was created with it, if the kernel cleared bits. @throws errors of the system */
  complete(descriptor: number, mode: number): void {
    let kept = this.#kept.get(mode);
    if (kept === undefined) {
      kept = (fstatSync(descriptor).mode & MODE_MASK) === mode;
      this.#kept.set(mode, kept);
    }
    if (!kept) fchmodSync(descriptor, mode);
  }
}
