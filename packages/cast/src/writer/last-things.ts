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
 * What is done when everything else is in place. Symbolic links: so that nothing of the cast could ever be written
 * through one. Then the modes and times of directories, the deepest first: a directory that must not be written to
 * had to be, and every entry made in it changed its time.
 */
export class LastThings {
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

  /** Paths are views of a message, whose memory is used again: copies are kept. */
  symbolicLink(record: SymbolicLinkRecord): void {
    this.#links.push({ ...record, path: Buffer.from(record.path), target: Buffer.from(record.target) });
  }

  /** Yields of each link whether it was made. @throws CastError where nothing more can be stored */
  *links(): Generator<boolean, void, undefined> {
    for (const link of this.#links) {
      const isMade = this.outcomes.attempt(link.index, link.path, () => this.#make(link));
      this.active();
      yield isMade;
    }
  }

  /**
   * Gives directories their modes and times. Yields a descriptor of each directory that is finished, which the taker
   * closes: first those that something was put in and that the cast says nothing else of, then its own.
   * @throws CastError where nothing more can be stored, or where a directory is gone that something was put in
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
        descriptor = this.#adorn(directory);
      });
      this.active();
      if (descriptor !== undefined) yield descriptor;
    }
  }

  /** The cast ends early: as many directories as possible get their modes; problems are nobody's any more. */
  giveUp(): void {
    const made = new Set(this.tree.made.map((path) => path.toString('latin1')));
    for (const directory of this.#directories.toReversed()) {
      if (!made.has(directory.path.toString('latin1'))) continue;
      try {
        closeSync(this.#adorn(directory));
      } catch {
        // It is gone, or the disk is.
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

  #adorn({ path, mode, time }: DirectoryRecord): number {
    // Opened before it gets a mode that may forbid it.
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
