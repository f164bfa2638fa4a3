import { type BigIntStats, type Dirent, lstatSync, readdirSync } from 'node:fs';
import { MAX_SURPLUS } from '../constants.js';
import { CastError } from '../errors.js';
import type { Filter } from '../filters/filter.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { isTemporary } from '../stream/paths.js';
import { within } from './descriptor-paths.js';
import type { ReceivingTree } from './directory-tree.js';
import { SortedNames } from './sorted-names.js';

const SLASH = Buffer.from('/');

interface OpenDirectory {
  readonly entry: ManifestEntry;
  readonly index: number;
  /** Names that the sender has in it, as latin1. */
  readonly names: SortedNames;
}

/** An entry that the receiver has, in a directory of the cast, and the sender does not. */
export interface SurplusEntry {
  readonly path: Buffer;
  readonly isDirectory: boolean;
}

interface Candidate extends SurplusEntry {
  /** Undefined where it is gone again. */
  readonly id: string | undefined;
}

/**
 * Finds the surplus entries of the receiver while the entries of the sender arrive in order. It keeps the names of the
 * directories on the current path only.
 */
export class Surplus {
  readonly found: SurplusEntry[] = [];
  readonly #open: OpenDirectory[] = [];

  constructor(
    private readonly tree: ReceivingTree,
    private readonly filter: Filter,
    /** Something in this directory will be removed, which changes its time. */
    private readonly onDirectory: (entry: ManifestEntry, index: number) => void,
  ) {}

  /** The next entry of the sender. @throws CastError; errors of the system */
  add(entry: ManifestEntry, index: number): void {
    this.#leaveUntil((directory) => isBelow(entry.path, directory.entry.path));
    const slash = entry.path.lastIndexOf(SLASH);
    this.#open.at(-1)?.names.add(entry.path.toString('latin1', slash + 1));
    if (entry.kind !== 'directory') return;
    // The path is a view of a piece.
    this.#open.push({ entry: { ...entry, path: Buffer.from(entry.path) }, index, names: new SortedNames() });
  }

  /** After the last entry. */
  end(): void {
    this.#leaveUntil(() => false);
  }

  #leaveUntil(isInside: (directory: OpenDirectory) => boolean): void {
    for (let last = this.#open.at(-1); last && !isInside(last); last = this.#open.at(-1)) {
      this.#open.pop();
      this.#look(last);
    }
  }

  #look({ entry, index, names }: OpenDirectory): void {
    const descriptor = this.#descriptor(entry.path);
    if (descriptor === undefined) return;
    const candidates = this.#candidates(descriptor, entry.path, names);
    const own = identities(descriptor, names, new Set(candidates.map(({ id }) => id)));
    const found = candidates.filter(({ id }) => id === undefined || !own.has(id));
    for (const { path, isDirectory } of found) this.found.push({ path, isDirectory });
    if (found.length > 0) this.onDirectory(entry, index);
  }

  /** What has none of the sender's names. */
  #candidates(descriptor: number, directory: Buffer, names: SortedNames): Candidate[] {
    const found: Candidate[] = [];
    for (const name of namesIn(descriptor)) {
      if (names.has(name.toString('latin1')) || isTemporary(name)) continue;
      const stats = statsOf(descriptor, name);
      const isDirectory = stats?.isDirectory() ?? false;
      const path = Buffer.concat([directory, SLASH, name]);
      if (this.filter.excludes(path, isDirectory)) continue;
      if (this.found.length + found.length >= MAX_SURPLUS) throw tooMany();
      found.push({ path, isDirectory, id: stats && identity(stats) });
    }
    return found;
  }

  /** Undefined where it does not exist, or is not a directory here: storing it fails for that reason. */
  #descriptor(path: Buffer): number | undefined {
    try {
      return this.tree.existing(path);
    } catch (error) {
      if (error instanceof CastError) return undefined;
      throw error;
    }
  }
}

/** The names in an open directory, as bytes. */
export function namesIn(descriptor: number): Buffer[] {
  // The declarations of Node 20 lack this overload.
  const read = readdirSync as unknown as (path: string, options: object) => Dirent<Buffer>[] | Buffer[];
  return (read(`/proc/self/fd/${descriptor}/`, { encoding: 'buffer' }) as Buffer[]).sort(Buffer.compare);
}

/**
 * Those of the wanted entries that the sender's names lead to. Where the file system ignores case, or stores another normal form of Unicode, a name
 * in the directory differs from the sender's name of the same entry: removing it would remove the sender's entry.
 * Another hard link to a file is another entry.
 */
function identities(
  descriptor: number,
  names: SortedNames,
  wanted: ReadonlySet<string | undefined>,
): Set<string> {
  const found = new Set<string>();
  if (wanted.size === 0) return found;
  for (const name of names) {
    const stats = statsOf(descriptor, Buffer.from(name, 'latin1'));
    const id = stats && (stats.isDirectory() || stats.nlink === 1n) ? identity(stats) : undefined;
    if (id !== undefined && wanted.has(id)) found.add(id);
  }
  return found;
}

function identity({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

function statsOf(descriptor: number, name: Buffer): BigIntStats | undefined {
  return lstatSync(within(descriptor, name), { bigint: true, throwIfNoEntry: false });
}

function isBelow(path: Buffer, directory: Buffer): boolean {
  return (
    path.length > directory.length &&
    path[directory.length] === SLASH[0] &&
    path.subarray(0, directory.length).equals(directory)
  );
}

function tooMany(): CastError {
  return new CastError(
    'ERR_RDMC_WRITE_FAILED',
    `the receiving directory has more than ${MAX_SURPLUS} entries that the sender does not have; cast without delete`,
  );
}
