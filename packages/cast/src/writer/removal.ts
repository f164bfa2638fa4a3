import { closeSync, fstatSync, lstatSync, openSync, rmdirSync, unlinkSync } from 'node:fs';
import { CastError, codeOf } from '../errors.js';
import type { Filter } from '../filters/filter.js';
import { isTemporary, shown } from '../stream/paths.js';
import { DIRECTORY_FLAGS, within } from './descriptor-paths.js';
import type { ReceivingTree } from './directory-tree.js';
import { makeWritable, restoreMode } from './made-writable.js';
import type { Outcomes } from './outcomes.js';
import { namesIn, type SurplusEntry } from './surplus.js';

const SLASH = Buffer.from('/');
/** For problems: these entries have no index in the cast. */
const NO_INDEX = -1;

/**
 * Removes surplus entries. Every directory is opened from its parent without following symbolic links, so that nothing
 * outside of the receiving directory is removed; a symbolic link is removed itself. A file system that is mounted on a
 * surplus directory stays.
 */
export class Removal {
  /** Entries removed: files, links and directories. */
  removed = 0;

  constructor(
    private readonly tree: ReceivingTree,
    private readonly filter: Filter,
    private readonly outcomes: Outcomes,
    /** Called after every entry; what it throws ends the removal. */
    private readonly step: () => void,
  ) {}

  /** A failure becomes a problem. @throws CastError where nothing more can be stored */
  remove({ path }: SurplusEntry): void {
    this.outcomes.attempt(NO_INDEX, path, () => {
      const slash = path.lastIndexOf(SLASH);
      const parent = path.subarray(0, slash);
      const directory = this.tree.existing(parent);
      if (directory === undefined) return;
      this.tree.recordChange(parent);
      this.#removeIn(directory, path.subarray(slash + 1), path);
    });
  }

  /** Returns whether the name is free now. */
  #removeIn(directory: number, name: Buffer, path: Buffer): boolean {
    const place = within(directory, name);
    const stats = lstatSync(place, { throwIfNoEntry: false });
    if (!stats) return true;
    if (isTemporary(name) || this.filter.excludes(path, stats.isDirectory())) return false;
    if (stats.isDirectory() && stats.dev !== fstatSync(directory).dev) throw mounted(path);
    if (stats.isDirectory() && !this.#empty(place, path)) return false;
    try {
      if (stats.isDirectory()) rmdirSync(place);
      else unlinkSync(place);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return true;
      throw error;
    }
    this.removed += 1;
    this.step();
    return true;
  }

  /** Returns whether the directory is empty now: excluded entries stay. */
  #empty(place: Buffer, path: Buffer): boolean {
    const descriptor = openSync(place, DIRECTORY_FLAGS);
    try {
      const mode = makeWritable(descriptor);
      let isEmpty = true;
      for (const name of namesIn(descriptor)) {
        const isGone = this.#removeIn(descriptor, name, Buffer.concat([path, SLASH, name]));
        isEmpty &&= isGone;
      }
      if (!isEmpty && mode !== undefined) restoreMode(descriptor, mode);
      return isEmpty;
    } finally {
      closeSync(descriptor);
    }
  }
}

function mounted(path: Buffer): CastError {
  return new CastError(
    'ERR_RDMC_OTHER_FILE_SYSTEM',
    `another file system is mounted at ${shown(path)}, and is not removed; unmount it and cast again`,
  );
}
