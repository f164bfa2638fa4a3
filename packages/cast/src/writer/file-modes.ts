import { fchmodSync, fstatSync } from 'node:fs';
import { MODE_MASK } from '../constants.js';

/**
 * Modes of files in one temporary directory. The kernel takes away what the umask, or the directory's default access
 * control list, says; what it leaves of a mode is the same for every file, so it is looked at once.
 */
export class FileModes {
  /** By the mode asked for: whether a new file has it. */
  readonly #kept = new Map<number, boolean>();

  /** Sees to it that a file that was made with this mode has it. @throws of the system */
  complete(descriptor: number, mode: number): void {
    let kept = this.#kept.get(mode);
    if (kept === undefined) {
      kept = (fstatSync(descriptor).mode & MODE_MASK) === mode;
      this.#kept.set(mode, kept);
    }
    if (!kept) fchmodSync(descriptor, mode);
  }
}
