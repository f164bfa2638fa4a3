import { type BigIntStats, closeSync, readSync } from 'node:fs';
import type { BlockSet } from '../delta/block-set.js';
import type { PartFile } from '../resume/part-file.js';

const SECTOR_BYTES = 512;

/** A file of the receiver that an entry of the cast will replace. */
export interface OlderFile {
  /** Path in the cast. */
  readonly path: Buffer;
  /** Of the new file, as the sender listed it; block sizes depend on it. */
  readonly size: number;
  readonly blockBytes: number;
  /** Of the older file, as it was compared; undefined where there is only a partial file of an interrupted cast. */
  readonly stats: BigIntStats | undefined;
  /** Blocks of the new file that it has at the same offsets. */
  readonly held: BlockSet;
  /** Blocks that the sender has described so far. */
  compared: number;
  /** What an interrupted cast has left of the new file. */
  part: PartFile | undefined;
}

/** The descriptor of an older file. Its bytes may change at any time: the checksum of the new file finds that. */
export class OpenOlderFile {
  constructor(
    private readonly file: OlderFile,
    readonly descriptor: number,
  ) {}

  /** Whether it has holes. */
  get isSparse(): boolean {
    const { blocks, size } = this.file.stats!;
    return Number(blocks) * SECTOR_BYTES < Number(size);
  }

  /** Whether all blocks of this range were found to be equal to those of the sender. */
  holds(offset: number, length: number): boolean {
    return this.file.held.covers(this.file.blockBytes, offset, length);
  }

  /** As `readFully`. */
  read(target: Buffer, offset: number): number {
    return readFully(this.descriptor, target, offset);
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

/** Fills `target` from `offset` on. Returns the number of bytes: less than wanted where the file ends or cannot be read. */
export function readFully(descriptor: number, target: Buffer, offset: number): number {
  let done = 0;
  try {
    while (done < target.length) {
      const bytes = readSync(descriptor, target, done, target.length - done, offset + done);
      if (bytes === 0) break;
      done += bytes;
    }
  } catch {
    // The new file is then sent whole.
  }
  return done;
}

/** Whether it is the file that was found before, by the times of its contents. Another name of it may have gone since. */
export function isSameContent(a: BigIntStats, b: BigIntStats): boolean {
  return a.dev === b.dev && a.ino === b.ino && a.size === b.size && a.mtimeNs === b.mtimeNs;
}
