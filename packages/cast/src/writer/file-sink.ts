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
import type { Checksum } from '../checksum.js';
import { CHUNK_BYTES, MODE_MASK } from '../constants.js';
import { ContentDigest } from '../content-digest.js';
import { CastError, codeOf, messageOf } from '../errors.js';
import type { FileBeginRecord, Timestamp } from '../stream/records.js';
import { within } from './descriptor-paths.js';
import type { Place } from './directory-tree.js';
import type { FileModes } from './file-modes.js';

const OPEN_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** A file that is being received: it has a temporary name until it is complete. */
export class FileSink {
  /** Bytes written since the last sync began. */
  unsyncedBytes = 0;
  readonly #fd: number;
  readonly #content: ContentDigest;
  #offset = 0;
  #endsInHole = false;
  #syncing: Promise<void> | undefined;

  /** @throws errors of the system */
  constructor(
    readonly begin: FileBeginRecord,
    private readonly temporary: Buffer,
    checksum: Checksum,
    private readonly modes: FileModes,
    private readonly active: () => void,
  ) {
    this.#content = new ContentDigest(checksum, begin.index);
    // Other users cannot open it before it has its name: the temporary directory has mode 700.
    this.#fd = openSync(temporary, OPEN_FLAGS, begin.mode & MODE_MASK);
  }

  /** Whether its descriptor is in use by `startSync`. */
  get isSyncing(): boolean {
    return this.#syncing !== undefined;
  }

  /** @throws errors of the system; call `discard` then */
  write(data: Buffer): void {
    for (let at = 0; at < data.length; at += CHUNK_BYTES) {
      const chunk = data.subarray(at, at + CHUNK_BYTES);
      this.#content.update(chunk);
      this.#writeAll(chunk, this.#offset + at);
      this.active();
    }
    this.#offset += data.length;
    this.unsyncedBytes += data.length;
    this.#endsInHole = false;
  }

  /** As `write`, with bytes of an older file. Where `isHole`, they are zeros that need not be written. */
  keep(data: Buffer, isHole: boolean): void {
    this.#content.update(data);
    if (!isHole) this.#writeAll(data, this.#offset);
    this.#offset += data.length;
    this.unsyncedBytes += isHole ? 0 : data.length;
    this.#endsInHole = isHole;
    this.active();
  }

  skip(length: number): void {
    this.#content.hole(length);
    this.#offset += length;
    this.#endsInHole = true;
  }

  /**
   * Checks the contents, and sets length, mode and times. Only the name is missing then.
   * @throws CastError ERR_RDMC_HASH_MISMATCH; errors of the system
   */
  seal(digest: Buffer): void {
    if (!this.#content.digest().equals(digest)) {
      throw new CastError(
        'ERR_RDMC_HASH_MISMATCH',
        'its checksum differs from that of the sender; cast it again',
      );
    }
    if (this.#endsInHole) ftruncateSync(this.#fd, this.#offset);
    this.modes.complete(this.#fd, this.begin.mode & MODE_MASK);
    const time = secondsOf(this.begin.time);
    futimesSync(this.#fd, time, time);
  }

  /** Syncs what has been written, while more is received. `sync` reports its errors. */
  startSync(sync: (descriptor: number) => Promise<void>): Promise<void> {
    this.unsyncedBytes = 0;
    const syncing = sync(this.#fd);
    this.#syncing = syncing;
    return syncing.then(
      () => {
        this.#syncing = undefined;
      },
      // A failed sync stays here, so that `sync` fails: the kernel reports an error only once.
      () => {},
    );
  }

  /** Syncs the whole file; starts before it returns. @throws CastError ERR_RDMC_NO_SPACE, ERR_RDMC_WRITE_FAILED */
  sync(sync: (descriptor: number) => Promise<void>): Promise<void> {
    const synced = this.#syncing ? this.#syncing.then(() => sync(this.#fd)) : sync(this.#fd);
    return synced.catch((error: unknown) => {
      throw notSynced(error);
    });
  }

  /** Renames it to its name. @throws errors of the system */
  commit({ directory, name }: Place): void {
    renameSync(this.temporary, within(directory, name));
    closeSync(this.#fd);
  }

  discard(): void {
    unlinkSync(this.temporary);
    this.release();
  }

  /** Closes the descriptor, after a sync that still uses it. */
  release(): void {
    const close = (): void => closeSync(this.#fd);
    if (this.#syncing) void this.#syncing.then(close, close);
    else close();
  }

  #writeAll(chunk: Buffer, offset: number): void {
    let done = 0;
    while (done < chunk.length) done += writeSync(this.#fd, chunk, done, chunk.length - done, offset + done);
  }
}

function notSynced(cause: unknown): CastError {
  const errno = codeOf(cause) ?? messageOf(cause);
  return errno === 'ENOSPC' || errno === 'EDQUOT'
    ? new CastError(
        'ERR_RDMC_NO_SPACE',
        `no space was left when it was synced to disk (${errno}); make room`,
        {
          cause,
        },
      )
    : new CastError(
        'ERR_RDMC_WRITE_FAILED',
        `it could not be synced to disk (${errno}); check the disk, and cast it again`,
        { cause },
      );
}

/**
 * For functions of `fs`: seconds as a double. Node.js 20 and 22 truncate it to microseconds. A double that is
 * rounded down must not truncate to one microsecond less, so 0.2 microseconds are added, but never to whole seconds.
 */
export function secondsOf({ seconds, nanoseconds }: Timestamp): number | string {
  const microseconds = Math.floor(nanoseconds / 1000);
  // `fs` takes a negative number for the present, and negative text as it is; it truncates towards zero.
  if (seconds < 0) return String(microseconds === 0 ? seconds : seconds + (microseconds - 0.2) / 1e6);
  return microseconds === 0 ? seconds : seconds + (microseconds + 0.2) / 1e6;
}
