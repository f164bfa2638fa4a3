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
import type { ArchivedEntries } from '../archive/archived-entries.js';
import { MODE_MASK } from '../constants.js';
import { CastError } from '../errors.js';
import type { StagedTree } from '../resume/staged-tree.js';
import { shown } from '../stream/paths.js';
import type { DirectoryRecord, HardLinkRecord, SymbolicLinkRecord } from '../stream/records.js';
import { within } from './descriptor-paths.js';
import { secondsOf } from './file-time.js';
import type { Outcomes } from './outcomes.js';
import { asCastError } from './system-errors.js';
import type { TemporaryDirectory } from './temporary-directory.js';

/** The name of an open directory, in itself. */
const ITSELF = Buffer.from('.');

/** For problems of directories that are not entries of the cast. */
const NO_INDEX = -1;

/**
 * Links, and modes and times of directories: they are set when everything else is in place. Hard links
 * come first: the file that they are linked to may have arrived in a later group. Then symbolic links, which are late so
 * that no file of the cast is written through one. Then new directories, which get their names when they are complete. Then
 * the other directories. Of both, the deepest come first: one without write permission must be writable until its entries
 * are made, and every new entry changes its time.
 */
export class DeferredEntries {
  /** By index. */
  readonly #directories = new Map<number, DirectoryRecord>();
  readonly #links: SymbolicLinkRecord[] = [];
  readonly #hardLinks: HardLinkRecord[] = [];
  /** Indices of directories that were finished before they got their names. */
  readonly #finished = new Set<number>();

  constructor(
    private readonly tree: StagedTree,
    private readonly temporary: TemporaryDirectory,
    private readonly outcomes: Outcomes,
    private readonly active: () => void,
    /** Undefined where the cast tells only modes. */
    private readonly archived?: ArchivedEntries | undefined,
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
   * Sets modes and times of new directories. Yields a descriptor of each finished one; the caller closes it.
   * @throws CastError where nothing more can be stored
   */
  *finishStaged(): Generator<number, void, undefined> {
    const directories = this.#childrenFirst().filter(({ path }) => this.tree.isStaged(path));
    for (const { index } of directories) this.#finished.add(index);
    yield* this.#finish(this.tree.changedStaged, directories);
  }

  /**
   * Gives new directories their names, one per step. All in them is on disk. Yields a descriptor of each that has got its mode
   * after that; the caller closes it.
   * @throws CastError as `finishStaged`
   */
  *publish(): Generator<number | undefined, void, undefined> {
    const indices = new Map(this.#childrenFirst().map(({ path, index }) => [path.toString('latin1'), index]));
    for (const top of this.tree.tops) {
      const index = indices.get(top.toString('latin1')) ?? NO_INDEX;
      const late: number[] = [];
      this.outcomes.attempt(index, top, () =>
        this.tree.publish(top, (descriptor) => void late.push(descriptor)),
      );
      this.active();
      try {
        yield undefined;
        while (late.length > 0) yield late.shift();
      } finally {
        for (const descriptor of late) closeSync(descriptor);
      }
    }
  }

  /**
   * Sets modes and times of the other directories. Yields a descriptor of each finished one; the caller closes it.
   * @throws CastError where nothing more can be stored, or where a directory that got entries is gone
   */
  *finishDirectories(): Generator<number, void, undefined> {
    // First: those of the cast get their own modes then.
    this.tree.restoreModes();
    const isLeft = ({ index, path }: DirectoryRecord): boolean =>
      !this.#finished.has(index) || this.tree.isMerged(path);
    yield* this.#finish(this.tree.changed, this.#childrenFirst().filter(isLeft));
  }

  /** First come directories that got entries but are not entries of the cast themselves, then those of the cast. */
  *#finish(
    changed: readonly Buffer[],
    directories: readonly DirectoryRecord[],
  ): Generator<number, void, undefined> {
    const own = new Set(directories.map(({ path }) => path.toString('latin1')));
    for (const path of changed) {
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
    this.archived?.setLink(index, temporary);
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

  #setAttributes({ index, path, mode, time }: DirectoryRecord): number {
    // Opened first: the new mode may forbid it.
    const descriptor = this.tree.openApart(path);
    try {
      const seconds = secondsOf(time);
      const path = within(descriptor, ITSELF).toString();
      if (!this.archived?.set(index, descriptor, mode, path)) fchmodSync(descriptor, mode & MODE_MASK);
      futimesSync(descriptor, seconds, seconds);
      return descriptor;
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }
}
