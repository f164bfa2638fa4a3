import { closeSync, openSync } from 'node:fs';
import { CastError, codeOf } from '../errors.js';
import { shown } from '../stream/paths.js';
import { DIRECTORY_FLAGS, within } from '../writer/descriptor-paths.js';
import { DirectoryTree } from '../writer/directory-tree.js';

const SLASH = 0x2f;
/** At the end of messages of the system. */
const OPEN_PLACE = /'\/proc\/self\/fd\/\d+\/.*'$/s;

/**
 * What is below one of the paths that are cast. Every directory is opened from its parent without following a symbolic link: a
 * user who may write in the tree could put one in the place of a directory, and have files sent that only the sender may read.
 */
export class SourceTree {
  #open: { readonly descriptor: number; readonly directories: DirectoryTree } | undefined;

  /** @param source its path, with links resolved */
  constructor(private readonly source: Buffer) {}

  /**
   * Does something with an entry, by its path through its open directory: valid in `action` only. Again, where the directory was
   * replaced by another one since it was opened.
   * @param path below the root; of length 0: the root itself
   * @throws what `action` throws; CastError ERR_RDMC_FILE_CHANGED where a directory became something else; errors of the system
   */
  at<T>(path: Buffer, action: (place: Buffer) => T): T {
    try {
      return this.#at(path, action);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || !this.#open) throw error;
      this.close();
      return this.#at(path, action);
    }
  }

  /** Directories are opened again when they are needed. */
  close(): void {
    this.#open?.directories.close();
    if (this.#open) closeSync(this.#open.descriptor);
    this.#open = undefined;
  }

  #at<T>(path: Buffer, action: (place: Buffer) => T): T {
    try {
      return action(this.#place(path));
    } catch (error) {
      throw this.#named(error, path);
    }
  }

  #place(path: Buffer): Buffer {
    if (path.length === 0) return this.source;
    const slash = path.lastIndexOf(SLASH);
    return within(this.#directory(path.subarray(0, Math.max(slash, 0))), path.subarray(slash + 1));
  }

  #directory(path: Buffer): number {
    try {
      const found = this.#directories.existing(path);
      if (found !== undefined) return found;
    } catch (error) {
      if (!(error instanceof CastError)) throw error;
      const message = `${shown(path)} in it is not a directory any more; cast it again`;
      throw new CastError('ERR_RDMC_FILE_CHANGED', message, { cause: error });
    }
    throw Object.assign(new Error(`ENOENT: ${shown(path)} in it does not exist any more`), {
      code: 'ENOENT',
    });
  }

  get #directories(): DirectoryTree {
    if (!this.#open) {
      const descriptor = openSync(this.source, DIRECTORY_FLAGS);
      this.#open = { descriptor, directories: new DirectoryTree(descriptor) };
    }
    return this.#open.directories;
  }

  /** People do not know the numbers of descriptors. */
  #named(error: unknown, path: Buffer): unknown {
    if (!(error instanceof Error)) return error;
    const name = Buffer.concat([this.source, Buffer.of(SLASH), path]).toString();
    error.message = error.message.replace(OPEN_PLACE, () => `'${name}'`);
    return error;
  }
}
