import {
  type BigIntStats,
  closeSync,
  constants,
  type Dirent,
  lstatSync,
  openSync,
  readdirSync,
} from 'node:fs';
import { MAX_NAME_BYTES, MAX_PATH_BYTES, MODE_MASK } from '../constants.js';
import { CastError, codeOf, messageOf } from '../errors.js';
import { timestamp } from '../reader/entries.js';
import { FileSource } from '../reader/file-source.js';
import { checkPath, componentsOf, isTemporary, shown } from '../stream/paths.js';
import { within } from '../writer/descriptor-paths.js';
import { DirectoryTree } from '../writer/directory-tree.js';
import { Listing, NO_TARGET, type OfferedTree } from './offered-tree.js';

const SLASH = 0x2f;

/**
 * A name in the served directory. Every directory is opened from its parent without following a symbolic link, so nothing
 * outside is read, whatever is put there meanwhile. Paths at fetchers begin with the last component of the name.
 */
export class ServedTree implements OfferedTree {
  readonly #tree: DirectoryTree;

  /**
   * @param root descriptor of the directory; the tree owns it
   * @param name path below the served directory; empty for all that is in it
   */
  constructor(
    private readonly root: number,
    private readonly name: Buffer,
  ) {
    this.#tree = new DirectoryTree(root);
  }

  /** @throws errors of the system, where the directory cannot be opened */
  static open(directory: string, name: Buffer): ServedTree {
    return new ServedTree(openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY), name);
  }

  close(): void {
    this.#tree.close();
    closeSync(this.root);
  }

  /** Opens a regular file. @throws CastError; errors of the system */
  open(source: Buffer): FileSource {
    return new FileSource(this.#place(source), undefined);
  }

  /**
   * Lists everything below a name, parents first, sorted by the bytes of the names. Links and special files are counted and
   * left out; entries that cannot be read are problems.
   * @throws CastError ERR_RDMC_NOT_FOUND, ERR_RDMC_UNSAFE_PATH, ERR_RDMC_UNSUPPORTED_TYPE, ERR_RDMC_UNREADABLE
   */
  list(): Listing {
    const { name } = this;
    const listing = new Listing();
    const prefix = name.length === 0 ? 0 : name.lastIndexOf(SLASH) + 1;
    const stack = name.length === 0 ? this.#children(name).reverse() : [name];
    if (name.length > 0) this.#checkName(name);
    for (let source = stack.pop(); source !== undefined; source = stack.pop()) {
      try {
        stack.push(...this.#take(listing, source, prefix).reverse());
      } catch (error) {
        const code = error instanceof CastError ? error.code : 'ERR_RDMC_UNREADABLE';
        listing.problems.add({ path: shown(source), code, message: messageOf(error) });
      }
    }
    return listing;
  }

  #checkName(name: Buffer): void {
    checkPath(name);
    if (componentsOf(name).some(isTemporary)) throw notFound(name);
    const stats = this.#stats(name);
    if (stats.isSymbolicLink()) throw followsNoLink(name);
    if (stats.isDirectory() || stats.isFile()) return;
    throw new CastError('ERR_RDMC_UNSUPPORTED_TYPE', `${shown(name)} is neither a file nor a directory`);
  }

  /** Adds one entry. Returns what is in it. */
  #take(listing: Listing, source: Buffer, prefix: number): Buffer[] {
    const stats = this.#stats(source);
    const isDirectory = stats.isDirectory();
    if (!isDirectory && !stats.isFile()) {
      listing.skipped += 1;
      return [];
    }
    const path = source.subarray(prefix);
    checkEntry(path);
    // Read first: a directory that cannot be read is a problem rather than an empty directory.
    const children = isDirectory ? this.#children(source) : [];
    listing.add({
      kind: isDirectory ? 'directory' : 'file',
      source,
      path,
      mode: Number(stats.mode) & MODE_MASK,
      time: timestamp(stats.mtimeNs),
      size: isDirectory ? 0 : Number(stats.size),
      ...NO_TARGET,
    });
    return children;
  }

  #children(source: Buffer): Buffer[] {
    const descriptor = this.#directory(source, source);
    // The declarations of Node's oldest supported version lack this overload.
    const read = readdirSync as unknown as (path: string, options: object) => Dirent<Buffer>[] | Buffer[];
    const names = read(`/proc/self/fd/${descriptor}/`, { encoding: 'buffer' }) as Buffer[];
    return names
      .filter((each) => !isTemporary(each))
      .sort(Buffer.compare)
      .map((each) => (source.length === 0 ? each : Buffer.concat([source, Buffer.of(SLASH), each])));
  }

  #stats(source: Buffer): BigIntStats {
    try {
      return lstatSync(this.#place(source), { bigint: true });
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      throw notFound(source);
    }
  }

  /** The path of an entry through its open directory. */
  #place(source: Buffer): Buffer {
    const slash = source.lastIndexOf(SLASH);
    const parent = source.subarray(0, Math.max(slash, 0));
    return within(this.#directory(parent, source), source.subarray(slash + 1));
  }

  #directory(path: Buffer, source: Buffer): number {
    let descriptor: number | undefined;
    try {
      descriptor = this.#tree.existing(path);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ERR_RDMC_UNSAFE_PATH') throw followsNoLink(source);
      if (code === 'ERR_RDMC_PATH_CONFLICT') throw notFound(source);
      throw error;
    }
    if (descriptor === undefined) throw notFound(source);
    return descriptor;
  }
}

/** @throws CastError ERR_RDMC_UNREADABLE where fetchers would refuse the path */
function checkEntry(path: Buffer): void {
  const nameBytes = path.length - 1 - path.lastIndexOf(SLASH);
  if (path.length <= MAX_PATH_BYTES && nameBytes <= MAX_NAME_BYTES) return;
  throw new CastError(
    'ERR_RDMC_UNREADABLE',
    `its path has ${path.length} bytes, more than ${MAX_PATH_BYTES}`,
  );
}

function notFound(source: Buffer): CastError {
  return new CastError('ERR_RDMC_NOT_FOUND', `${shown(source)} does not exist in the served directory`);
}

function followsNoLink(source: Buffer): CastError {
  const message = `${shown(source)} is a symbolic link in the served directory, or leads through one; links are not followed`;
  return new CastError('ERR_RDMC_UNSAFE_PATH', message);
}
