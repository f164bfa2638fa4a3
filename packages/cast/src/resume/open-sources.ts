import { closeSync } from 'node:fs';
import { type OpenOlderFile, readFully } from '../writer/open-older-file.js';
import type { PartFile } from './part-file.js';

/** A partial file that is open for reading. */
export class OpenPart {
  constructor(
    private readonly part: PartFile,
    readonly descriptor: number,
  ) {}

  holds(offset: number, length: number): boolean {
    return this.part.held.covers(this.part.blockBytes, offset, length);
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

/**
 * What a receiver has of a file that is sent: an older file, the partial file of an interrupted cast, or both. A range of
 * the partial file is in its place already.
 */
export class OpenSources {
  constructor(
    private readonly older: OpenOlderFile | undefined,
    private readonly part: OpenPart | undefined,
    private readonly blockBytes: number,
  ) {}

  /** Whether the older file has holes. */
  get isSparse(): boolean {
    return this.older?.isSparse ?? false;
  }

  /** Largest piece that lies in one source. */
  get pieceBytes(): number {
    return this.older && this.part ? this.blockBytes : Number.POSITIVE_INFINITY;
  }

  /** Whether the bytes are in the partial file. */
  isInPlace(offset: number, length: number): boolean {
    return this.part?.holds(offset, length) === true;
  }

  /** Fills `target` from `offset` on. Returns the number of bytes: less than wanted where they are not there any more. */
  read(target: Buffer, offset: number): number {
    if (this.isInPlace(offset, target.length)) return readFully(this.part!.descriptor, target, offset);
    if (this.older?.holds(offset, target.length)) return this.older.read(target, offset);
    return 0;
  }

  close(): void {
    this.older?.close();
    this.part?.close();
  }
}
