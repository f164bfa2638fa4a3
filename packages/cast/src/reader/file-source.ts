import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { CastError } from '../errors.js';

/** Metadata that shows whether a file is unchanged. */
export interface FileIdentity {
  readonly size: number;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly inode: bigint;
}

/** Called before every read; tests change the file there. */
export type ReadHook = (path: Buffer, offset: number) => void;

const SECTOR_BYTES = 512;
// Without O_NONBLOCK, opening a pipe that has replaced the file would wait for a writer.
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** An open file that is being read. */
export class FileSource {
  readonly stats: BigIntStats;
  readonly #fd: number;

  /**
   * @param name of the file, for the hook
   * @throws the error of the system; CastError ERR_RDMC_FILE_CHANGED where it is not a regular file any more
   */
  constructor(
    path: Buffer,
    private readonly hook: ReadHook | undefined,
    private readonly name = path,
  ) {
    this.#fd = openSync(path, OPEN_FLAGS);
    try {
      this.stats = fstatSync(this.#fd, { bigint: true });
      if (!this.stats.isFile())
        throw new CastError('ERR_RDMC_FILE_CHANGED', 'it is not a regular file any more');
    } catch (error) {
      closeSync(this.#fd);
      throw error;
    }
  }

  get identity(): FileIdentity {
    const { size, mtimeNs, ctimeNs, ino } = this.stats;
    return { size: Number(size), mtimeNs, ctimeNs, inode: ino };
  }

  /** Whether it has holes: its blocks take less room than its size. */
  get sparse(): boolean {
    return Number(this.stats.blocks) * SECTOR_BYTES < Number(this.stats.size);
  }

  /** Fills `target` from `offset` on. Returns false where the file is too short. */
  read(target: Buffer, offset: number): boolean {
    let done = 0;
    while (done < target.length) {
      this.hook?.(this.name, offset + done);
      const bytes = readSync(this.#fd, target, done, target.length - done, offset + done);
      if (bytes === 0) return false;
      done += bytes;
    }
    return true;
  }

  /** Whether it is unchanged. */
  is(identity: FileIdentity): boolean {
    const { size, mtimeNs, ctimeNs, ino } = fstatSync(this.#fd, { bigint: true });
    return (
      Number(size) === identity.size &&
      mtimeNs === identity.mtimeNs &&
      ctimeNs === identity.ctimeNs &&
      ino === identity.inode
    );
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** Whether a file is unchanged. */
export function isSameIdentity(a: FileIdentity, b: FileIdentity): boolean {
  return a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs && a.inode === b.inode;
}
