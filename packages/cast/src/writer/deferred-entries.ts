import { closeSync, fchmodSync, futimesSync, lutimesSync, renameSync, symlinkSync } from 'node:fs';
import { MODE_MASK } from '../constants.js';
import type { DirectoryRecord, SymbolicLinkRecord } from '../stream/records.js';
import { within } from './descriptor-paths.js';
import type { DirectoryTree } from './directory-tree.js';
import { secondsOf } from './file-sink.js';
import type { Outcomes } from './outcomes.js';
import { asCastError } from './system-errors.js';
import type { TemporaryDirectory } from './temporary-directory.js';

/**
 * Symbolic links, and modes and times of directories: they are set when everything else is in place. Symbolic links
 * come first; they are late so that no file of the cast is written through one. Then directories, the deepest first:
 * one without write permission must be writable until its entries are made, and every new entry changes its time.
 */
export class DeferredEntries {
  readonly #directories: DirectoryRecord[] = [];
  readonly #links: SymbolicLinkRecord[] = [];

  constructor(
    private readonly tree: DirectoryTree,
    private readonly temporary: TemporaryDirectory,
    private readonly outcomes: Outcomes,
    private readonly active: () => void,
  ) {}

  get directories(): number {
    return this.#directories.length;
  }

  directory(record: DirectoryRecord): void {
    this.#directories.push(record);
  }

  /** Copies the paths: they are views of a message, whose memory is reused. */
  symbolicLink(record: SymbolicLinkRecord): void {
    this.#links.push({ ...record, path: Buffer.from(record.path), target: Buffer.from(record.target) });
  }

  /** Makes the links. Yields for each link whether it was made. @throws CastError where nothing more can be stored */
  *links(): Generator<boolean, void, undefined> {
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
    const own = new Set(this.#directories.map(({ path }) => path.toString('latin1')));
    for (const path of this.tree.changed) {
      if (!own.has(path.toString('latin1'))) yield this.#open(path);
    }
    // Parents came before their children.
    for (const directory of this.#directories.toReversed()) {
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
    for (const directory of this.#directories.toReversed()) {
      if (!made.has(directory.path.toString('latin1'))) continue;
      try {
        closeSync(this.#setAttributes(directory));
      } catch {
        // The directory was removed, or the disk fails.
      }
      this.active();
    }
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
