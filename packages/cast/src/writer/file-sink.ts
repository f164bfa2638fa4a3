import {
  closeSync,
  constants,
  ftruncateSync,
  futimesSync,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { type Checksum, type FileDigest, fileDigest } from '../checksum.js';
import { CHUNK_BYTES, MODE_MASK } from '../constants.js';
import { CastError } from '../errors.js';
import type { FileBeginRecord, Timestamp } from '../stream/records.js';
import { within } from './descriptor-paths.js';
import type { Place } from './directory-tree.js';
import type { FileModes } from './file-modes.js';

const OPEN_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const ZEROS = Buffer.alloc(CHUNK_BYTES);

/** A file on its way: it lies under a temporary name until it is whole. */
export class FileSink {
  readonly #fd: number;
  readonly #hash: FileDigest;
  #offset = 0;
  #endsInHole = false;

  /** @throws of the system */
  constructor(
    readonly begin: FileBeginRecord,
    private readonly temporary: Buffer,
    checksum: Checksum,
    private readonly modes: FileModes,
    private readonly active: () => void,
  ) {
    this.#hash = fileDigest(checksum, begin.index);
    // Nobody else reaches it before it has its name: the temporary directory has mode 700.
    this.#fd = openSync(temporary, OPEN_FLAGS, begin.mode & MODE_MASK);
  }

  /** @throws of the system; nothing is kept of a file that failed: call `discard` */
  write(data: Buffer): void {
    for (let at = 0; at < data.length; at += CHUNK_BYTES) {
      const chunk = data.subarray(at, at + CHUNK_BYTES);
      this.#hash.update(chunk);
      this.#writeAll(chunk, this.#offset + at);
      this.active();
    }
    this.#offset += data.length;
    this.#endsInHole = false;
  }

  skip(length: number): void {
    for (let at = 0; at < length; at += CHUNK_BYTES) {
      this.#hash.update(ZEROS.subarray(0, Math.min(CHUNK_BYTES, length - at)));
      this.active();
    }
    this.#offset += length;
    this.#endsInHole = true;
  }

  /** Gives it its name, if it is what was sent. @throws CastError ERR_RDMC_HASH_MISMATCH, or of the system */
  commit(digest: Buffer, place: () => Place): void {
    if (!this.#hash.digest().equals(digest)) {
      throw new CastError(
        'ERR_RDMC_HASH_MISMATCH',
        'its checksum is not that of the file sent; cast it again',
      );
    }
    if (this.#endsInHole) ftruncateSync(this.#fd, this.#offset);
    this.modes.complete(this.#fd, this.begin.mode & MODE_MASK);
    const time = secondsOf(this.begin.time);
    futimesSync(this.#fd, time, time);
    const { directory, name } = place();
    renameSync(this.temporary, within(directory, name));
    closeSync(this.#fd);
  }

  discard(): void {
    closeSync(this.#fd);
    unlinkSync(this.temporary);
  }

  #writeAll(chunk: Buffer, offset: number): void {
    let done = 0;
    while (done < chunk.length) done += writeSync(this.#fd, chunk, done, chunk.length - done, offset + done);
  }
}

/**
 * For functions of `fs`: seconds as a double. They cut off below microseconds; what a double loses must not make
 * that one less, so a little is added, but never to whole seconds.
 */
export function secondsOf({ seconds, nanoseconds }: Timestamp): number {
  const microseconds = Math.floor(nanoseconds / 1000);
  return microseconds === 0 ? seconds : seconds + (microseconds + 0.2) / 1e6;
}
