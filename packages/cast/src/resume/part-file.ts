import { type BigIntStats, closeSync, constants, fstatSync, openSync } from 'node:fs';
import { BlockSet } from '../delta/block-set.js';
import { deltaBlockBytes, deltaBlocks } from '../delta/blocks.js';
import { blocksIn, type ClosedFile, type Journal, type Range, rangesOf } from './journal.js';

const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW;

/** Where a partial file and its journal are, and what the journal says. */
export interface PartFacts {
  readonly place: Buffer;
  readonly journal: Journal;
  /** Whether its ranges count without being compared with hashes of the sender. */
  readonly isTrusted: boolean;
  /** Bytes that it takes on disk. */
  readonly diskBytes: number;
}

/** A partial file that an interrupted cast has left, and that this cast continues. */
export class PartFile {
  /** Blocks that lie in ranges of the journal. */
  readonly journaled: BlockSet;
  /** Of these, the blocks that this cast takes: they are trusted, or have the hashes of the sender. */
  readonly held: BlockSet;
  readonly size: number;
  readonly blockBytes: number;

  constructor(private readonly facts: PartFacts) {
    const { size, ranges } = facts.journal;
    this.size = size;
    this.blockBytes = deltaBlockBytes(size);
    this.journaled = blocksIn(ranges, size, this.blockBytes);
    this.held = new BlockSet(deltaBlocks(size));
  }

  get place(): Buffer {
    return this.facts.place;
  }

  get identity(): Buffer {
    return this.facts.journal.identity;
  }

  get isTrusted(): boolean {
    return this.facts.isTrusted;
  }

  get diskBytes(): number {
    return this.facts.diskBytes;
  }

  /** What the journal says: in order, without overlaps. */
  get ranges(): readonly Range[] {
    return this.facts.journal.ranges;
  }

  get heldRanges(): Range[] {
    return rangesOf(this.held, this.size, this.blockBytes);
  }

  /**
   * Finds the blocks of a range that this cast takes.
   * @param hash compares a run of blocks of the open file with hashes of the sender, and adds equal ones to `held`
   */
  compare(first: number, end: number, hash: (descriptor: number, from: number, to: number) => void): void {
    const descriptor = this.isTrusted ? undefined : this.open();
    try {
      for (let block = first; block < end; ) {
        const next = Math.min(end, this.journaled.runEnd(block));
        if (this.journaled.has(block)) {
          if (this.isTrusted) for (let each = block; each < next; each += 1) this.held.add(each);
          else if (descriptor !== undefined) hash(descriptor, block, next);
        }
        block = next;
      }
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }

  /** Opens it for reading; undefined where it is not there any more. The caller closes it. */
  open(): number | undefined {
    try {
      return openSync(this.place, READ_FLAGS);
    } catch {
      return undefined;
    }
  }
}

/** Whether a partial file is as it was when it was closed. */
export function isAsClosed(stats: BigIntStats, closed: ClosedFile | undefined): boolean {
  return (
    closed !== undefined &&
    stats.ino === closed.inode &&
    stats.size === closed.size &&
    stats.mtimeNs === closed.mtimeNs &&
    stats.ctimeNs === closed.ctimeNs
  );
}

/** The state of a regular file with one name; undefined for anything else. */
export function statsOfFile(place: Buffer): BigIntStats | undefined {
  const descriptor = openSync(place, READ_FLAGS | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor, { bigint: true });
    return stats.isFile() && stats.nlink === 1n ? stats : undefined;
  } finally {
    closeSync(descriptor);
  }
}
