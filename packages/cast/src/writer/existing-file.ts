import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  futimesSync,
  openSync,
  readSync,
} from 'node:fs';
import type { ArchivedEntries } from '../archive/archived-entries.js';
import { CHUNK_BYTES } from '../constants.js';
import type { ContentComparison } from '../manifest/content-comparison.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { secondsOf } from './file-time.js';

// Without O_NONBLOCK, opening a pipe that has replaced the file would wait for a writer.
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Reads files that the receiver has, and sets their modes and times. */
export class ExistingFile {
  #chunk: Buffer | undefined;

  constructor(
    private readonly contents: ContentComparison,
    /** Whether a file is on disk before the cast is reported as complete. */
    private readonly durable: boolean,
    private readonly active: () => void,
    /** Undefined where the cast tells only modes. */
    private readonly archived: ArchivedEntries | undefined,
  ) {}

  /** Whether the contents have the digest. False also where the file cannot be read, or changes meanwhile. */
  hasDigest(place: Buffer, stats: BigIntStats, index: number, digest: Buffer): boolean {
    return this.#open(place, stats, (descriptor) => {
      const found = this.contents.digest(index);
      this.#chunk ??= Buffer.allocUnsafe(CHUNK_BYTES);
      for (let at = 0; ; ) {
        const bytes = readSync(descriptor, this.#chunk, 0, CHUNK_BYTES, at);
        if (bytes === 0) break;
        found.update(this.#chunk.subarray(0, bytes));
        at += bytes;
        this.active();
      }
      return isSame(fstatSync(descriptor, { bigint: true }), stats) && found.digest().equals(digest);
    });
  }

  /**
   * Sets mode and time, in an archive cast also the owner. Does nothing and returns false where the file has further names, which may be outside of the
   * receiving directory, or where it cannot be opened.
   */
  setAttributes(place: Buffer, stats: BigIntStats, { mode, time }: ManifestEntry, index: number): boolean {
    if (stats.nlink !== 1n) return false;
    return this.#open(place, stats, (descriptor) => {
      const seconds = secondsOf(time);
      if (!this.archived?.set(index, descriptor, mode, undefined)) fchmodSync(descriptor, mode);
      futimesSync(descriptor, seconds, seconds);
      if (this.durable) fsyncSync(descriptor);
      return true;
    });
  }

  #open(place: Buffer, stats: BigIntStats, use: (descriptor: number) => boolean): boolean {
    let descriptor: number | undefined;
    try {
      descriptor = openSync(place, OPEN_FLAGS);
      return isSame(fstatSync(descriptor, { bigint: true }), stats) && use(descriptor);
    } catch {
      return false;
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }
}

function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return (
    a.ino === b.ino &&
    a.dev === b.dev &&
    a.size === b.size &&
    a.mtimeNs === b.mtimeNs &&
    a.ctimeNs === b.ctimeNs
  );
}
