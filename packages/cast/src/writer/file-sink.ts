import { closeSync, ftruncateSync, futimesSync, renameSync, unlinkSync, writeSync } from 'node:fs';
import type { Checksum } from '../checksum.js';
import { CHUNK_BYTES, EARLY_SYNC_BYTES } from '../constants.js';
import { ContentDigest } from '../content-digest.js';
import { CastError, codeOf, messageOf } from '../errors.js';
import { eraseRange } from '../resume/erase-range.js';
import type { PartialJournal } from '../resume/partial-journal.js';
import type { SinkTarget } from '../resume/sink-target.js';
import type { FileBeginRecord } from '../stream/records.js';
import { within } from './descriptor-paths.js';
import type { Place } from './directory-tree.js';
import type { FileModes } from './file-modes.js';
import { secondsOf } from './file-time.js';

/** A file that is being received: it has a temporary name until it is complete. */
export class FileSink {
  /** Bytes written since the last sync began. */
  unsyncedBytes = 0;
  readonly #fd: number;
  readonly #content: ContentDigest;
  #offset = 0;
  #endsInHole = false;
  #syncing: Promise<void> | undefined;
  #areNamesSynced = false;

  constructor(
    readonly begin: FileBeginRecord,
    private readonly target: SinkTarget,
    checksum: Checksum,
    private readonly modes: FileModes,
    private readonly active: () => void,
  ) {
    this.#content = new ContentDigest(checksum, begin.index);
    this.#fd = target.descriptor;
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

  /** As `write`, with bytes that the receiver has: to copy, zeros of a hole, or bytes of this file itself. */
  keep(data: Buffer, how: 'copy' | 'hole' | 'in place'): void {
    this.#content.update(data);
    if (how === 'copy') this.#writeAll(data, this.#offset);
    if (how === 'hole') this.#erase(data.length);
    this.#offset += data.length;
    this.unsyncedBytes += how === 'copy' ? data.length : 0;
    this.#endsInHole = how === 'hole';
    this.active();
  }

  /** @throws errors of the system; call `discard` then */
  skip(length: number): void {
    this.#content.hole(length);
    this.#erase(length);
    this.#offset += length;
    this.#endsInHole = true;
  }

  /** What an interrupted cast has left there may be something else. */
  #erase(length: number): void {
    const end = Math.min(this.#offset + length, this.target.existingBytes);
    if (end > this.#offset) eraseRange(this.#fd, this.#offset, end, this.active);
  }

  /**
   * Checks the contents, and sets length, owner, mode and times. Only the name is missing then.
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
    const { path, journal } = this.target;
    this.modes.complete(this.#fd, this.begin, { path, isPrivate: journal !== undefined });
    const time = secondsOf(this.begin.time);
    futimesSync(this.#fd, time, time);
  }

  /** Syncs what has been written, while more is received. `sync` reports its errors. */
  startSync(sync: (descriptor: number) => Promise<void>): Promise<void> {
    this.unsyncedBytes = 0;
    const end = this.#offset;
    const syncing = sync(this.#fd).then(() => this.#journalUpTo(end, sync));
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

  /** Without syncs: notes in the journal what has been written. */
  note(): void {
    if (this.unsyncedBytes < EARLY_SYNC_BYTES) return;
    this.unsyncedBytes = 0;
    this.target.journal?.extend(this.#offset);
  }

  /**
   * The cast ends early: syncs what has been written, and closes the journal. No sync may run.
   * @throws errors of the system
   */
  async settle(sync: (descriptor: number) => Promise<void>): Promise<void> {
    // A failed sync is reported only once.
    if (!this.target.journal || this.#syncing) return;
    await sync(this.#fd);
    this.noteEnd();
    await this.#syncJournal(this.target.journal, sync);
  }

  /** Nothing more will be written: closes the journal. */
  noteEnd(): void {
    this.target.journal?.extend(this.#offset);
    this.target.journal?.close(this.#fd);
  }

  /** Renames it to its name. @throws errors of the system */
  commit({ directory, name }: Place): void {
    renameSync(this.target.path, within(directory, name));
    this.target.journal?.remove();
    closeSync(this.#fd);
    this.target.journal?.release();
  }

  discard(): void {
    unlinkSync(this.target.path);
    this.target.journal?.remove();
    this.release();
  }

  /** Closes the descriptor, after a sync that still uses it. */
  release(): void {
    const close = (): void => {
      closeSync(this.#fd);
      this.target.journal?.release();
    };
    if (this.#syncing) void this.#syncing.then(close, close);
    else close();
  }

  /** What is on disk counts in the journal; a journal that cannot be synced does not matter. */
  async #journalUpTo(end: number, sync: (descriptor: number) => Promise<void>): Promise<void> {
    const { journal } = this.target;
    if (!journal) return;
    journal.extend(end);
    try {
      await this.#syncJournal(journal, sync);
    } catch {
      // The file counts only as far as the journal is on disk.
    }
  }

  async #syncJournal(journal: PartialJournal, sync: (descriptor: number) => Promise<void>): Promise<void> {
    await sync(journal.descriptor);
    if (this.#areNamesSynced) return;
    this.#areNamesSynced = true;
    for (const directory of this.target.directories) await sync(directory);
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
