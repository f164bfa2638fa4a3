import type { BigIntStats } from 'node:fs';
import { DELTA_FILE_BYTES } from '../constants.js';
import { freeBytesOf, makeRoom, openKept } from './kept-data.js';
import type { KeptDirectory } from './kept-directory.js';
import type { PartFile } from './part-file.js';
import type { FileFactsOfEntry } from './part-identity.js';

/** How a cast uses what interrupted ones have left. */
export interface KeptUse {
  /** Whether it continues them; else they are only removed to make room. */
  readonly mayTake: boolean;
  /** Whether a partial file that nobody changed needs no comparison with hashes of the sender. */
  readonly mayTrust: boolean;
  /** Whether everything that it takes is on disk. */
  readonly durable: boolean;
}

/** What interrupted casts have left in a receiving directory, as one cast takes from it. */
export class KeptStore {
  readonly #kept: KeptDirectory[];

  /**
   * @param root descriptor of the receiving directory
   * @param into descriptor of the cast's temporary directory
   */
  constructor(
    private readonly root: number,
    private readonly into: number,
    private readonly use: KeptUse,
  ) {
    this.#kept = openKept(root);
  }

  get isEmpty(): boolean {
    return this.#kept.length === 0;
  }

  /** Bytes that can be stored: leftovers are removed where they are in the way. */
  get freeBytes(): number {
    return freeBytesOf(this.root) + this.#kept.reduce((sum, each) => sum + each.diskBytes, 0);
  }

  /** Moves a complete file to its place. As `KeptDirectory.takeFile`. */
  takeFile(
    path: Buffer,
    isWanted: (place: Buffer, stats: BigIntStats) => boolean,
    target: () => Buffer,
  ): boolean {
    const { mayTake, durable } = this.use;
    return mayTake && this.#newest.some((each) => each.takeFile(path, isWanted, target, durable));
  }

  /** The partial file of an entry, moved to the cast's temporary directory. */
  takePart(entry: FileFactsOfEntry): PartFile | undefined {
    if (!this.use.mayTake || entry.size < DELTA_FILE_BYTES) return undefined;
    for (const each of this.#newest) {
      const part = each.takePart(entry, this.into, this.use.mayTrust);
      if (part) return part;
    }
    return undefined;
  }

  /** Removes leftovers, the oldest first, until there is room for so many bytes. */
  makeRoom(neededBytes: number): void {
    if (this.isEmpty) return;
    // Else the removal of a leftover would count what this cast has taken from it.
    for (const each of this.#kept) each.noteTaken();
    if (freeBytesOf(this.root) < neededBytes) makeRoom(this.root, neededBytes);
  }

  /** Removes leftovers of which no later cast can use anything. */
  close(): void {
    for (const each of this.#kept.splice(0)) {
      try {
        if (this.use.mayTake && !each.prune()) each.remove();
      } catch {
        // Another cast takes from it, or the disk fails; it is removed after some days.
      }
      each.close();
    }
  }

  get #newest(): readonly KeptDirectory[] {
    return this.#kept.toReversed();
  }
}
