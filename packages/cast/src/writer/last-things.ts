import { fchmodSync, futimesSync, lutimesSync, renameSync, symlinkSync } from 'node:fs';
import { MODE_MASK } from '../constants.js';
import type { DirectoryRecord, SymbolicLinkRecord } from '../stream/records.js';
import { within } from './descriptor-paths.js';
import type { DirectoryTree } from './directory-tree.js';
import { secondsOf } from './file-sink.js';
import type { Outcomes } from './outcomes.js';
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

  /** Paths are views of a message, whose memory is used again: copies are kept. */
  directory(record: DirectoryRecord): void {
    this.#directories.push({ ...record, path: Buffer.from(record.path) });
  }

  symbolicLink(record: SymbolicLinkRecord): void {
    this.#links.push({ ...record, path: Buffer.from(record.path), target: Buffer.from(record.target) });
  }

  /** Returns the number of links made. @throws CastError where nothing more can be stored */
  run(): number {
    let made = 0;
    for (const link of this.#links) {
      if (this.outcomes.attempt(link.index, link.path, () => this.#make(link))) made += 1;
      this.active();
    }
    // Parents came before their children.
    for (const directory of this.#directories.toReversed()) {
      this.outcomes.attempt(directory.index, directory.path, () => this.#adorn(directory));
      this.active();
    }
    return made;
  }

  #make({ index, path, target, time }: SymbolicLinkRecord): void {
    const temporary = this.temporary.file(index);
    symlinkSync(target, temporary);
    const seconds = secondsOf(time);
    lutimesSync(temporary, seconds, seconds);
    const { directory, name } = this.tree.place(path);
    renameSync(temporary, within(directory, name));
  }

  #adorn({ path, mode, time }: DirectoryRecord): void {
    const descriptor = this.tree.open(path);
    const seconds = secondsOf(time);
    fchmodSync(descriptor, mode & MODE_MASK);
    futimesSync(descriptor, seconds, seconds);
  }
}
