import { type BigIntStats, type Dirent, lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { MAX_ENTRIES, MAX_NAME_BYTES, MAX_PATH_BYTES, MODE_MASK } from '../constants.js';
import { CastError, messageOf } from '../errors.js';
import type { FileSurvey } from '../file-survey.js';
import { ProblemList } from '../problems.js';
import { shown } from '../stream/paths.js';
import { type Entry, type Root, sourceOf, timestamp } from './entries.js';

const SECTOR_BYTES = 512;
const SLASH = Buffer.from('/');

/** Every entry below the roots, parents first, sorted by the bytes of their names; and the totals. */
export class Survey {
  readonly entries: Entry[] = [];
  readonly problems = new ProblemList();
  readonly #linked = new Map<string, number>();
  #files = 0;
  #directories = 0;
  #links = 0;
  #bytes = 0;
  #contentBytes = 0;

  constructor(roots: readonly Root[]) {
    for (const root of roots) this.#visit(root, root.name);
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

  /** Visits depth first with an explicit stack, so that a deep tree does not overflow the call stack. */
  #visit(root: Root, first: Buffer): void {
    const stack = [first];
    for (let path = stack.pop(); path !== undefined; path = stack.pop()) {
      for (const child of this.#take(root, path).reverse()) stack.push(child);
    }
  }

  /** Adds one entry. Returns the paths of its children. */
  #take(root: Root, path: Buffer): Buffer[] {
    const source = sourceOf({ root, path });
    try {
      if (this.entries.length >= MAX_ENTRIES)
        throw new RangeError(`there are more than ${MAX_ENTRIES} entries`);
      const stats = lstatSync(source, { bigint: true });
      if (stats.isDirectory()) return this.#takeDirectory(root, path, source, stats);
      if (stats.isFile()) this.#takeFile(root, path, stats);
      else if (stats.isSymbolicLink()) this.#takeLink(root, path, source, stats);
      else this.#problem(path, 'ERR_RDMC_UNSUPPORTED_TYPE', 'it is neither file, directory nor link');
    } catch (error) {
      const code = error instanceof CastError ? error.code : 'ERR_RDMC_UNREADABLE';
      this.#problem(path, code, messageOf(error));
    }
    return [];
  }

  #takeDirectory(root: Root, path: Buffer, source: Buffer, stats: BigIntStats): Buffer[] {
    // Read first: a directory that cannot be read is a problem rather than an empty directory.
    const children = namesIn(source);
    const mode = Number(stats.mode) & MODE_MASK;
    this.entries.push({ kind: 'directory', root, path, mode, time: timestamp(stats.mtimeNs) });
    this.#directories += 1;
    return children.map((name) => Buffer.concat([path, SLASH, name])).filter((child) => this.#fits(child));
  }

  #takeFile(root: Root, path: Buffer, stats: BigIntStats): void {
    const key = `${stats.dev}:${stats.ino}`;
    const targetIndex = stats.nlink > 1n ? this.#linked.get(key) : undefined;
    if (targetIndex !== undefined) {
      this.entries.push({ kind: 'hardLink', root, path, targetIndex });
      this.#links += 1;
      return;
    }
    if (stats.nlink > 1n) this.#linked.set(key, this.entries.length);
    this.entries.push({ kind: 'file', root, path });
    const size = Number(stats.size);
    this.#files += 1;
    this.#bytes += size;
    this.#contentBytes += Math.min(size, Number(stats.blocks) * SECTOR_BYTES);
  }

  #takeLink(root: Root, path: Buffer, source: Buffer, stats: BigIntStats): void {
    const target = readlinkSync(source, 'buffer');
    this.entries.push({ kind: 'symbolicLink', root, path, target, time: timestamp(stats.mtimeNs) });
    this.#links += 1;
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
function namesIn(directory: Buffer): Buffer[] {
  // The declarations of Node's oldest supported version lack this overload.
  const read = readdirSync as unknown as (path: Buffer, options: object) => Dirent<Buffer>[] | Buffer[];
  return (read(directory, { encoding: 'buffer' }) as Buffer[]).sort(Buffer.compare);
}
