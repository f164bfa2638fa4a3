import {
  closeSync,
  fchmodSync,
  futimesSync,
  linkSync,
  lutimesSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { MODE_MASK } from '../constants.js';
import { CastError } from '../errors.js';
import { shown } from '../stream/paths.js';
import type { DirectoryRecord, HardLinkRecord, SymbolicLinkRecord } from '../stream/records.js';
import { within } from './descriptor-paths.js';
import type { DirectoryTree } from './directory-tree.js';
import { secondsOf } from './file-sink.js';
import type { Outcomes } from './outcomes.js';
import { asCastError } from './system-errors.js';
import type { TemporaryDirectory } from './temporary-directory.js';

/**
 * Links, and modes and times of directories: they are set when everything else is in place. Hard links
 * come first: the file that they are linked to may have arrived in a later group. Then symbolic links, which are late so
 * that no file of the cast is written through one. Then directories, the deepest first: one without write permission must be writable until its entries are made, and every new entry changes its time.
 */
export class DeferredEntries {
  /** By index. */
  readonly #directories = new Map<number, DirectoryRecord>();
  readonly #links: SymbolicLinkRecord[] = [];
  readonly #hardLinks: HardLinkRecord[] = [];

  constructor(
    private readonly tree: DirectoryTree,
    private readonly temporary: TemporaryDirectory,
    private readonly outcomes: Outcomes,
    private readonly active: () => void,
  ) {}

  get directories(): number {
    return this.#directories.size;
  }

  directory(record: DirectoryRecord): void {
    this.#directories.set(record.index, record);
  }

  /** Copies the paths. */
  hardLink(record: HardLinkRecord): void {
    const { path, targetPath } = record;
    this.#hardLinks.push({ ...record, path: Buffer.from(path), targetPath: Buffer.from(targetPath) });
  }

  /** Copies the paths: they are views of a message, whose memory is reused. */
  symbolicLink(record: SymbolicLinkRecord): void {
    this.#links.push({ ...record, path: Buffer.from(record.path), target: Buffer.from(record.target) });
  }

  /** Makes the links. Yields for each link whether it was made. @throws CastError where nothing more can be stored */
  *links(): Generator<boolean, void, undefined> {
    for (const link of this.#hardLinks) {
      const isMade = this.outcomes.attempt(link.index, link.path, () => this.#makeHardLink(link));
      this.active();
      yield isMade;
    }
    for (const link of this.#links) {
      const isMade = this.outcomes.attempt(link.index, link.path, () => this.#make(link));
      this.active();
      yield isMade;
    }
  }

  /**
   * Sets modes and times of directories. Yields a descriptor of each finished directory; the caller closes it. First
   * come directories that got entries but are not entries of the cast themselves, then the directories of the cast.
   * @throws CastError where nothing more can be stored, or where a directory that got entries is gone
   */
  *finishDirectories(): Generator<number, void, undefined> {
    const directories = this.#childrenFirst();
    const own = new Set(directories.map(({ path }) => path.toString('latin1')));
    for (const path of this.tree.changed) {
      if (!own.has(path.toString('latin1'))) yield this.#open(path);
    }
    for (const directory of directories) {
      let descriptor: number | undefined;
      this.outcomes.attempt(directory.index, directory.path, () => {
        descriptor = this.#setAttributes(directory);
      });
      this.active();
      if (descriptor !== undefined) yield descriptor;
    }
  }

  /** The cast ends early: sets the modes of directories as far as possible, and ignores errors. */
  giveUp(): void {
    const made = new Set(this.tree.made.map((path) => path.toString('latin1')));
    for (const directory of this.#childrenFirst()) {
      if (!made.has(directory.path.toString('latin1'))) continue;
      try {
        closeSync(this.#setAttributes(directory));
      } catch {
        // The directory was removed, or the disk fails.
      }
      this.active();
    }
  }

  /** Indices of parents are lower than those of their children. */
  #childrenFirst(): DirectoryRecord[] {
    return [...this.#directories.values()].sort((a, b) => b.index - a.index);
  }

  #open(path: Buffer): number {
    try {
      return this.tree.openApart(path);
    } catch (error) {
      throw asCastError(error);
    }
  }

  #make({ index, path, target, time }: SymbolicLinkRecord): void {
    const temporary = this.temporary.file(index);
    symlinkSync(target, temporary);
    const seconds = secondsOf(time);
    lutimesSync(temporary, seconds, seconds);
    const { directory, name } = this.tree.place(path);
    renameSync(temporary, within(directory, name));
  }

  #makeHardLink({ index, targetIndex, path, targetPath }: HardLinkRecord): void {
    if (targetIndex >= index || this.outcomes.missing.has(targetIndex)) {
      const message = `${shown(targetPath)}, the target of this hard link, does not exist here`;
      throw new CastError('ERR_RDMC_LINK_TARGET_MISSING', message);
    }
    const temporary = this.temporary.file(index);
    const target = this.tree.place(targetPath);
    linkSync(within(target.directory, target.name), temporary);
    const { directory, name } = this.tree.place(path);
    renameSync(temporary, within(directory, name));
    // Where both names were the same file already, renaming has no effect.
    rmSync(temporary, { force: true });
  }

  #setAttributes({ path, mode, time }: DirectoryRecord): number {
    // Opened first: the new mode may forbid it.
    const descriptor = this.tree.openApart(path);
    try {
      const seconds = secondsOf(time);
      fchmodSync(descriptor, mode & MODE_MASK);
      futimesSync(descriptor, seconds, seconds);
      return descriptor;
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }
}
