import { fchmodSync, fstatSync } from 'node:fs';
import type { ArchivedEntries } from '../archive/archived-entries.js';
import { MODE_MASK } from '../constants.js';
import type { FileBeginRecord } from '../stream/records.js';

type Moded = Pick<FileBeginRecord, 'index' | 'mode'>;

/**
 * Modes of files in one temporary directory, in an archive cast with their owners. The kernel clears mode bits according to
 * the umask, or to the directory's default access control list. The result for a mode is the same for every file, so it is
 * read once.
 */
export class FileModes {
  /** By the requested mode: whether a new file has it. */
  readonly #kept = new Map<number, boolean>();

  constructor(
    /** Undefined where the cast tells only modes. */
    private readonly archived?: ArchivedEntries | undefined,
  ) {}

  /**
   * Sets the mode of a file that was created with it, if the kernel cleared bits.
   * @param isPrivate whether it was created with another mode
   * @throws errors of the system
   */
  complete(descriptor: number, { index, mode: wanted }: Moded, isPrivate: boolean): void {
    if (this.archived?.set(index, descriptor, wanted)) return;
    const mode = wanted & MODE_MASK;
    let kept = isPrivate ? false : this.#kept.get(mode);
    if (kept === undefined) {
      kept = (fstatSync(descriptor).mode & MODE_MASK) === mode;
      this.#kept.set(mode, kept);
    }
    if (!kept) fchmodSync(descriptor, mode);
  }
}
