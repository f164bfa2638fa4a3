import { fchmodSync, fstatSync } from 'node:fs';
import type { ArchivedEntries } from '../archive/archived-entries.js';
import { MODE_MASK } from '../constants.js';
import type { FileBeginRecord } from '../stream/records.js';

type Moded = Pick<FileBeginRecord, 'index' | 'mode'>;

/** A file in a temporary directory. */
interface MadeFile {
  /** Needed in an archive cast. */
  readonly path?: Buffer;
  /** Whether it was created with another mode. */
  readonly isPrivate: boolean;
}

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
   * @throws errors of the system
   */
  complete(descriptor: number, { index, mode: wanted }: Moded, { path, isPrivate }: MadeFile): void {
    if (this.archived?.set(index, descriptor, wanted, path?.toString())) return;
    const mode = wanted & MODE_MASK;
    let kept = isPrivate ? false : this.#kept.get(mode);
    if (kept === undefined) {
      kept = (fstatSync(descriptor).mode & MODE_MASK) === mode;
      this.#kept.set(mode, kept);
    }
    if (!kept) fchmodSync(descriptor, mode);
  }
}
