import { MAX_ENTRIES } from '../constants.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { ProblemList } from '../problems.js';
import type { FileSource } from '../reader/file-source.js';

/** An entry of a pull, as its origin finds it. */
export interface OfferedEntry extends Omit<ManifestEntry, 'digest'> {
  /** What `OfferedTree.open` needs. */
  readonly source: Buffer;
}

/** Of an entry that is not a link. */
export const NO_TARGET = { target: Buffer.alloc(0), targetIndex: 0 };

/** What an origin offers, as it is on disk. */
export interface OfferedTree {
  /** All entries, parents first. @throws CastError where nothing can be offered */
  list(): Listing;
  /** Opens a regular file. @throws CastError; errors of the system */
  open(source: Buffer): FileSource;
  close(): void;
}

/** What is in a tree. */
export class Listing {
  readonly entries: OfferedEntry[] = [];
  readonly problems = new ProblemList();
  /** Links and special files that are left out. */
  skipped = 0;

  add(entry: OfferedEntry): void {
    if (this.entries.length >= MAX_ENTRIES)
      throw new RangeError(`there are more than ${MAX_ENTRIES} entries`);
    this.entries.push(entry);
  }
}
