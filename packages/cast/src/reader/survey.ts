import { type BigIntStats, type Dirent, lstatSync, readdirSync, readlinkSync } from 'node:fs';
import type { ToldAttributes } from '../archive/told-attributes.js';
import { MAX_ENTRIES, MAX_NAME_BYTES, MAX_PATH_BYTES, MODE_MASK } from '../constants.js';
import { CastError, codeOf, messageOf } from '../errors.js';
import type { FileSurvey } from '../file-survey.js';
import type { Filter } from '../filters/filter.js';
import { ProblemList } from '../problems.js';
import { isTemporary, shown } from '../stream/paths.js';
import { type Entry, inSource, type Root, timestamp } from './entries.js';
import type { ListedPath } from './listed-paths.js';

const SECTOR_BYTES = 512;
const SLASH = Buffer.from('/');
/** The name of a directory, in itself. */
const HERE = Buffer.from('.');

/** An entry that is to be visited. */
interface Visit {
  readonly path: Buffer;
  /** Index of its directory; -1 for a root. */
  readonly parent: number;
  /** Where only listed paths are cast: what is listed here. */
  readonly listed: ListedPath | undefined;
}

export interface SurveyOptions {
  readonly filter?: Filter | undefined;
  /** Only these paths below the root, which is the only one. */
  readonly listed?: ListedPath | undefined;
  /** In an archive cast: what is told about entries. */
  readonly told?: ToldAttributes | undefined;
  /** Lists nothing before `advance` (default false: everything). */
  readonly lazy?: boolean;
}

/** Every entry below the roots, parents first, sorted by the bytes of their names; and the totals. */
export class Survey {
  readonly entries: Entry[] = [];
  readonly problems = new ProblemList();
  readonly #visits: Iterator<void>;
  readonly #linked = new Map<string, number>();
  #files = 0;
  #directories = 0;
  #links = 0;
  #bytes = 0;
  #contentBytes = 0;

  constructor(
    roots: readonly Root[],
    private readonly options: SurveyOptions = {},
  ) {
    this.#visits = this.#visitAll(roots);
    if (!options.lazy) this.advance(Number.POSITIVE_INFINITY);
  }

  /** Lists entries until there are `count`. Returns false where there are fewer. */
  advance(count: number): boolean {
    while (this.entries.length < count) if (this.#visits.next().done) return false;
    return true;
  }

  get totals(): FileSurvey {
    return {
      files: this.#files,
      directories: this.#directories,
      links: this.#links,
      bytes: this.#bytes,
      contentBytes: this.#contentBytes,
      problems: this.problems.kept,
      problemCount: this.problems.count,
    };
  }

  *#visitAll(roots: readonly Root[]): Generator<void, void, undefined> {
    for (const root of roots)
      yield* this.#visit(root, { path: root.name, parent: -1, listed: this.options.listed });
  }

  /** Visits depth first with an explicit stack, so that a deep tree does not overflow the call stack. */
  *#visit(root: Root, first: Visit): Generator<void, void, undefined> {
    const stack = [first];
    for (let visit = stack.pop(); visit !== undefined; visit = stack.pop()) {
      for (const child of this.#take(root, visit).reverse()) stack.push(child);
      yield;
    }
  }

  /** Adds one entry. Returns what is to be visited in it. */
  #take(root: Root, visit: Visit): Visit[] {
    const { path, listed } = visit;
    try {
      if (this.entries.length >= MAX_ENTRIES)
        throw new RangeError(`there are more than ${MAX_ENTRIES} entries`);
      const stats = inSource({ root, path }, (place) => lstatSync(place, { bigint: true }));
      if (this.options.filter?.excludes(path, stats.isDirectory())) return [];
      if (stats.isDirectory()) return this.#takeDirectory(root, visit, stats);
      if (listed && !listed.isListed) this.#problem(path, 'ERR_RDMC_UNSAFE_PATH', 'it is not a directory');
      else if (stats.isFile()) this.#takeFile(root, visit, stats);
      else if (stats.isSymbolicLink()) this.#takeLink(root, visit, stats);
      else this.#problem(path, 'ERR_RDMC_UNSUPPORTED_TYPE', 'it is neither file, directory nor link');
    } catch (error) {
      const code = error instanceof CastError ? error.code : 'ERR_RDMC_UNREADABLE';
      const isMissing = listed !== undefined && codeOf(error) === 'ENOENT';
      if (isMissing) this.#problem(path, 'ERR_RDMC_NOT_FOUND', 'it is listed, and does not exist');
      else this.#problem(path, code, messageOf(error));
    }
    return [];
  }

  #takeDirectory(root: Root, { path, parent, listed }: Visit, stats: BigIntStats): Visit[] {
    // Read first: a directory that cannot be read is a problem rather than an empty directory.
    const children = listed
      ? listed.children()
      : namesIn(root, path).map((name) => ({ name, listed: undefined }));
    const mode = Number(stats.mode) & MODE_MASK;
    const index = this.entries.length;
    const attributes = this.#told(root, path, stats);
    const time = timestamp(stats.mtimeNs);
    this.entries.push({ kind: 'directory', root, parent, path, mode, time, attributes });
    this.#directories += 1;
    return (
      children
        // Of a receiver that stores here: they vanish during the cast, and nothing would remove them at the receivers.
        .filter((child) => !isTemporary(child.name))
        .map((child) => ({
          path: Buffer.concat([path, SLASH, child.name]),
          parent: index,
          listed: child.listed,
        }))
        .filter((child) => this.#fits(child.path))
    );
  }

  #takeFile(root: Root, { path, parent }: Visit, stats: BigIntStats): void {
    const isLinked = stats.nlink > 1n;
    const key = isLinked ? `${stats.dev}:${stats.ino}` : '';
    const targetIndex = isLinked ? this.#linked.get(key) : undefined;
    if (targetIndex !== undefined) {
      this.entries.push({ kind: 'hardLink', root, parent, path, targetIndex });
      this.#links += 1;
      return;
    }
    if (isLinked) this.#linked.set(key, this.entries.length);
    const size = Number(stats.size);
    const contentBytes = Math.min(size, Number(stats.blocks) * SECTOR_BYTES);
    const mode = Number(stats.mode) & MODE_MASK;
    const time = timestamp(stats.mtimeNs);
    const attributes = this.#told(root, path, stats);
    this.entries.push({ kind: 'file', root, parent, path, size, contentBytes, mode, time, attributes });
    this.#files += 1;
    this.#bytes += size;
    this.#contentBytes += contentBytes;
  }

  #takeLink(root: Root, { path, parent }: Visit, stats: BigIntStats): void {
    const target = inSource({ root, path }, (place) => readlinkSync(place, 'buffer'));
    this.entries.push({
      kind: 'symbolicLink',
      root,
      parent,
      path,
      target,
      time: timestamp(stats.mtimeNs),
      attributes: this.options.told?.of(stats),
    });
    this.#links += 1;
  }

  /** In an archive cast. */
  #told(root: Root, path: Buffer, stats: BigIntStats): Buffer | undefined {
    const { told } = this.options;
    return told && inSource({ root, path }, (place) => told.of(stats, place));
  }

  #fits(path: Buffer): boolean {
    const nameBytes = path.length - 1 - path.lastIndexOf(SLASH);
    if (path.length <= MAX_PATH_BYTES && nameBytes <= MAX_NAME_BYTES) return true;
    this.#problem(
      path,
      'ERR_RDMC_UNREADABLE',
      `its path has ${path.length} bytes, more than ${MAX_PATH_BYTES}`,
    );
    return false;
  }

  #problem(path: Buffer, code: string, message: string): void {
    this.problems.add({ path: shown(path), code, message });
  }
}

/** Names as bytes, sorted, so that a directory always gives the same stream. */
function namesIn(root: Root, path: Buffer): Buffer[] {
  // The declarations of Node's oldest supported version lack this overload.
  const read = readdirSync as unknown as (path: Buffer, options: object) => Dirent<Buffer>[] | Buffer[];
  // A name in it leads through it, and through no link.
  const inside = Buffer.concat([path, SLASH, HERE]);
  const names = inSource({ root, path: inside }, (place) => read(place, { encoding: 'buffer' }) as Buffer[]);
  return names.sort(Buffer.compare);
}
