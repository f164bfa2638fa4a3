import { closeSync, constants, lstatSync, mkdirSync, openSync, readlinkSync } from 'node:fs';
import { MAX_OPEN_DIRECTORIES } from '../constants.js';
import { CastError, codeOf } from '../errors.js';
import { componentsOf, shown } from '../stream/paths.js';
import { DIRECTORY_FLAGS, within } from './descriptor-paths.js';
import { MadeWritable } from './made-writable.js';

const SLASH = 0x2f;
/** Mode of new directories: only the owner has access until their own mode is set at the end. */
const FIRST_MODE = 0o700;

/** A name in an open directory. The tree owns the descriptor; it is valid until the tree's next call. */
export interface Place {
  readonly directory: number;
  readonly name: Buffer;
}

/** The directories that a cast stores its entries in. */
export interface ReceivingTree {
  /** Opens the directory of an entry, and makes it where it is missing. @throws CastError; errors of the system */
  place(path: Buffer): Place;
  /** The descriptor of a directory, which is made where it is missing. @throws CastError; errors of the system */
  open(path: Buffer): number;
  /** The descriptor of a directory that exists; undefined where it does not. @throws as `open` */
  existing(path: Buffer): number | undefined;
  /** Returns a new descriptor of a directory; the caller closes it. @throws as `open` */
  openApart(path: Buffer): number;
  /** Entries of this directory will be removed. @throws errors of the system */
  recordChange(path: Buffer): void;
  /** Directories that had to be made writable get their modes back. */
  restoreModes(): void;
  /** All directories are found again. */
  close(): void;
}

/**
 * Directories below an open one, each opened from its parent without following a symbolic link. The most recently used
 * ones stay open.
 */
export class DirectoryTree implements ReceivingTree {
  /** By path, the least recently used first. */
  readonly #open = new Map<string, number>();
  /** Paths of directories whose entries changed; '' is the root. */
  readonly #changed = new Set<string>();
  readonly #madeWritable = new MadeWritable();
  /** Path of the root when it was last looked at, as latin1, with a slash. */
  #rootPath = '';
  /** The directory that `existing` found last, while it is open. */
  #latest: { readonly path: Buffer; readonly descriptor: number } | undefined;

  constructor(
    private readonly root: number,
    /** It is in a directory of this process alone: nobody moves directories in it. */
    private readonly isPrivate = false,
  ) {}

  /** Opens the directory of an entry, and makes it where it is missing. @throws CastError; errors of the system */
  place(path: Buffer): Place {
    const slash = path.lastIndexOf(0x2f);
    const parent = path.subarray(0, Math.max(slash, 0));
    const key = parent.toString('latin1');
    const directory = slash === -1 ? this.root : this.#opened(parent, key);
    if (slash !== -1 && !this.isPrivate) this.#madeWritable.make(key, directory);
    this.#changed.add(key);
    return { directory, name: path.subarray(slash + 1) };
  }

  /** Directories whose entries changed, or may have; the path of length 0 is the root. */
  get changed(): Buffer[] {
    return [...this.#changed].map((path) => Buffer.from(path, 'latin1'));
  }

  /** The shortest part of a path that does not exist; undefined where all of it does. @throws as `open` */
  firstMissing(path: Buffer): Buffer | undefined {
    if (!this.#isInPlace(path)) this.close();
    if (this.#open.has(path.toString('latin1'))) return undefined;
    for (let end = path.indexOf(SLASH); ; end = path.indexOf(SLASH, end + 1)) {
      const part = end === -1 ? path : path.subarray(0, end);
      if (this.existing(part) === undefined) return part;
      if (end === -1) return undefined;
    }
  }

  /** Returns a new descriptor of a directory; the caller closes it. @throws as `open` */
  openApart(path: Buffer): number {
    const descriptor = path.length === 0 ? this.root : this.open(path);
    // The kernel's link to the open directory, which cannot be replaced.
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_RDONLY | constants.O_DIRECTORY);
  }

  /**
   * The descriptor of a directory. A directory that is open, and was moved or removed meanwhile, is opened or made again:
   * files would follow the open one, even out of the receiving directory.
   * @throws CastError ERR_RDMC_UNSAFE_PATH where a component is a symbolic link, ERR_RDMC_PATH_CONFLICT where it is not
   *   a directory
   */
  open(path: Buffer): number {
    return this.#opened(path, path.toString('latin1'));
  }

  #opened(path: Buffer, key: string): number {
    if (!this.#isInPlace(path)) this.close();
    const known = this.#use(key);
    if (known !== undefined) return known;
    let descriptor = this.root;
    let end = -1;
    for (const name of componentsOf(path)) {
      end += 1 + name.length;
      descriptor = this.#step(path.subarray(0, end), descriptor, name);
    }
    return descriptor;
  }

  /**
   * The descriptor of a directory that exists; undefined where it does not. Makes nothing. The path of length 0 is the
   * root.
   * @throws as `open`
   */
  existing(path: Buffer): number | undefined {
    if (path.length === 0) return this.root;
    // Entries come directory by directory.
    if (this.#latest?.path.equals(path)) return this.#latest.descriptor;
    const descriptor = this.#findExisting(path);
    if (descriptor !== undefined) this.#latest = { path: Buffer.from(path), descriptor };
    return descriptor;
  }

  #findExisting(path: Buffer): number | undefined {
    const known = this.#use(path.toString('latin1'));
    if (known !== undefined) return known;
    let descriptor = this.root;
    let end = -1;
    for (const name of componentsOf(path)) {
      end += 1 + name.length;
      const next = this.#existingStep(path.subarray(0, end), descriptor, name);
      if (next === undefined) return undefined;
      descriptor = next;
    }
    return descriptor;
  }

  /** As `ReceivingTree.recordChange`. */
  recordChange(path: Buffer): void {
    const key = path.toString('latin1');
    const directory = this.existing(path);
    if (directory !== undefined) this.#madeWritable.make(key, directory);
    this.#changed.add(key);
  }

  restoreModes(): void {
    this.#madeWritable.restore((path) => this.existing(path));
  }

  close(): void {
    for (const descriptor of this.#open.values()) closeSync(descriptor);
    this.#open.clear();
    this.#latest = undefined;
  }

  /** Whether the open directory that is nearest to this path, at it or above it, is still where it was opened. */
  #isInPlace(path: Buffer): boolean {
    if (this.isPrivate) return true;
    for (let end = path.length; end > 0; end = path.lastIndexOf(SLASH, end - 1)) {
      const key = path.toString('latin1', 0, end);
      const descriptor = this.#open.get(key);
      if (descriptor !== undefined) return this.#isAt(key, pathOf(descriptor));
    }
    return true;
  }

  #isAt(key: string, found: string): boolean {
    if (found === `${this.#rootPath}${key}`) return true;
    // The root itself may have been moved.
    const root = pathOf(this.root);
    this.#rootPath = root.endsWith('/') ? root : `${root}/`;
    return found === `${this.#rootPath}${key}`;
  }

  #step(path: Buffer, parent: number, name: Buffer): number {
    const key = path.toString('latin1');
    const known = this.#use(key);
    if (known !== undefined) return known;
    const descriptor = openDirectory(path, within(parent, name), () => this.#recordEntry(path, name));
    return this.#keep(key, descriptor, parent);
  }

  #existingStep(path: Buffer, parent: number, name: Buffer): number | undefined {
    const key = path.toString('latin1');
    const known = this.#use(key);
    if (known !== undefined) return known;
    const place = within(parent, name);
    try {
      return this.#keep(key, openSync(place, DIRECTORY_FLAGS), parent);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw classified(path, place, error);
    }
  }

  #keep(key: string, descriptor: number, parent: number): number {
    this.#open.set(key, descriptor);
    if (this.#open.size > MAX_OPEN_DIRECTORIES) this.#closeOldest(parent);
    return descriptor;
  }

  #recordEntry(path: Buffer, name: Buffer): void {
    const parent = path.subarray(0, Math.max(path.length - name.length - 1, 0));
    this.#changed.add(parent.toString('latin1'));
  }

  #use(key: string): number | undefined {
    const descriptor = this.#open.get(key);
    if (descriptor === undefined) return undefined;
    this.#open.delete(key);
    this.#open.set(key, descriptor);
    return descriptor;
  }

  #closeOldest(except: number): void {
    for (const [key, descriptor] of this.#open) {
      if (descriptor === except) continue;
      this.#open.delete(key);
      closeSync(descriptor);
      if (this.#latest?.descriptor === descriptor) this.#latest = undefined;
      return;
    }
  }
}

/** The present path of an open directory, as latin1; of a removed one, with a suffix. Empty where it is too long. */
function pathOf(descriptor: number): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`, 'latin1');
  } catch {
    return '';
  }
}

function openDirectory(path: Buffer, place: Buffer, onMade: () => void): number {
  try {
    return openSync(place, DIRECTORY_FLAGS);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return makeDirectory(path, place, onMade);
    throw classified(path, place, error);
  }
}

function makeDirectory(path: Buffer, place: Buffer, onMade: () => void): number {
  try {
    mkdirSync(place, { mode: FIRST_MODE });
    onMade();
  } catch (error) {
    // Another cast may have made it meanwhile.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  try {
    return openSync(place, DIRECTORY_FLAGS);
  } catch (error) {
    throw classified(path, place, error);
  }
}

function classified(path: Buffer, place: Buffer, error: unknown): unknown {
  const code = codeOf(error);
  if (code !== 'ELOOP' && code !== 'ENOTDIR') return error;
  const isLink = lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() ?? true;
  return isLink
    ? new CastError(
        'ERR_RDMC_UNSAFE_PATH',
        `${shown(path)} is a symbolic link in the receiving directory, and links are not followed; remove it`,
        { cause: error },
      )
    : new CastError(
        'ERR_RDMC_PATH_CONFLICT',
        `${shown(path)} in the receiving directory is not a directory; move it away and cast again`,
        { cause: error },
      );
}
