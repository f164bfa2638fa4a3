import { closeSync, futimesSync, renameSync, writeSync } from 'node:fs';
import { MAX_OPEN_PULL_FILES, PULL_PIECE_BYTES } from '../constants.js';
import { CastError, codeOf, messageOf } from '../errors.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { within } from '../writer/descriptor-paths.js';
import type { ReceivingTree } from '../writer/directory-tree.js';
import { FileModes } from '../writer/file-modes.js';
import { secondsOf } from '../writer/file-time.js';
import type { Outcomes } from '../writer/outcomes.js';
import type { SyncPort } from '../writer/sync-port.js';
import { isFatal } from '../writer/system-errors.js';
import type { TemporaryDirectory } from '../writer/temporary-directory.js';
import { IncompleteFiles, type TakenFile } from './incomplete-files.js';

export interface PulledFilesParts {
  readonly tree: ReceivingTree;
  readonly temporary: TemporaryDirectory;
  readonly outcomes: Outcomes;
  /** Undefined: nothing is synced. */
  readonly sync: SyncPort | undefined;
  /** Whether a later fetch may continue incomplete files. */
  readonly isKept: () => boolean;
  /** Called when the disk has done something. */
  readonly active: () => void;
}

/** The files of a fetch: pieces are written in any order, and a file gets its name when it is complete and synced. */
export class PulledFiles {
  /** Files that have their names, and the sum of their sizes. */
  files = 0;
  bytes = 0;
  readonly #incomplete: IncompleteFiles;
  readonly #modes = new FileModes();
  readonly #syncing = new Set<Promise<void>>();
  /** Nothing more can be stored. */
  #fatal: unknown;

  constructor(private readonly parts: PulledFilesParts) {
    this.#incomplete = new IncompleteFiles(parts);
  }

  /** An interrupted fetch or cast has left something of a file, in its place. Returns false where the file has failed. */
  adopt(index: number, entry: ManifestEntry): boolean {
    const { outcomes } = this.parts;
    return outcomes.attempt(index, entry.path, () => this.#incomplete.adopt(index, entry));
  }

  /** A piece is in a file that was adopted. @param number of the piece in the file */
  hold(index: number, number: number): void {
    this.#incomplete.hold(index, number);
  }

  /**
   * Writes a piece. Returns false where the file has failed.
   * @param number of the piece in the file
   * @throws CastError where nothing more can be stored
   */
  write(index: number, entry: ManifestEntry, number: number, bytes: Buffer): boolean {
    const offset = number * PULL_PIECE_BYTES;
    const isWritten = this.parts.outcomes.attempt(index, entry.path, () => {
      const descriptor = this.#incomplete.use(index, entry);
      for (let done = 0; done < bytes.length; )
        done += writeSync(descriptor, bytes, done, bytes.length - done, offset + done);
      this.#incomplete.wrote(index, number, bytes.length);
    });
    if (!isWritten) this.discard(index, entry);
    return isWritten;
  }

  /** All pieces of the file are written. @throws CastError where nothing more can be stored */
  complete(index: number, entry: ManifestEntry): void {
    const { path, mode, time } = entry;
    let file: TakenFile | undefined;
    const isReady = this.parts.outcomes.attempt(index, path, () => {
      file = this.#incomplete.take(index, entry);
      this.#modes.complete(file.descriptor, { index, mode }, { isPrivate: file.isAdopted });
      const seconds = secondsOf(time);
      futimesSync(file.descriptor, seconds, seconds);
    });
    if (!isReady || file === undefined) this.discard(index, entry);
    else if (this.parts.sync === undefined) this.#commit(index, entry, file);
    else this.#commitSynced(index, entry, file, this.parts.sync);
  }

  discard(index: number, entry: ManifestEntry): void {
    this.#incomplete.discard(index, entry);
  }

  /** Resolves when few enough files wait for the disk. @throws CastError where nothing more can be stored */
  async room(): Promise<void> {
    while (this.#syncing.size >= MAX_OPEN_PULL_FILES) await Promise.race(this.#syncing);
    if (this.#fatal !== undefined) throw this.#fatal;
  }

  /** Resolves when no file waits for the disk. @throws as `room` */
  async drained(): Promise<void> {
    await Promise.all(this.#syncing);
    if (this.#fatal !== undefined) throw this.#fatal;
  }

  /** An early end: what is written of large files can be continued. */
  settle(): Promise<void> {
    return this.#incomplete.settle();
  }

  close(): void {
    this.#incomplete.closeAll();
  }

  #commitSynced(index: number, entry: ManifestEntry, file: TakenFile, sync: SyncPort): void {
    const committed = (async () => {
      try {
        await this.#sync(file, sync);
        this.#commit(index, entry, file);
      } catch (error) {
        closeSync(file.descriptor);
        this.#fail(index, entry, error);
      }
    })();
    const settled = committed.finally(() => this.#syncing.delete(settled));
    this.#syncing.add(settled);
  }

  /** @throws CastError ERR_RDMC_WRITE_FAILED; errors of the system where the disk is full */
  async #sync({ descriptor, syncedEarly }: TakenFile, sync: SyncPort): Promise<void> {
    try {
      await syncedEarly();
      await sync.file(descriptor);
    } catch (cause) {
      throw notSynced(cause);
    }
  }

  /** Gives the file its name, and closes it. */
  #commit(index: number, entry: ManifestEntry, file: TakenFile): void {
    const { path, size } = entry;
    const { tree, outcomes, active } = this.parts;
    const isNamed = outcomes.attempt(index, path, () => {
      const { directory, name } = tree.place(path);
      renameSync(file.path, within(directory, name));
    });
    closeSync(file.descriptor);
    active();
    if (isNamed) {
      this.files += 1;
      this.bytes += size;
      this.#incomplete.named(entry);
    } else this.discard(index, entry);
  }

  #fail(index: number, entry: ManifestEntry, error: unknown): void {
    try {
      this.parts.outcomes.attempt(index, entry.path, () => {
        throw error;
      });
    } catch (fatal) {
      this.#fatal ??= fatal;
    }
    if (!isFatal(error)) this.discard(index, entry);
  }
}

function notSynced(cause: unknown): unknown {
  const errno = codeOf(cause) ?? messageOf(cause);
  if (errno === 'ENOSPC' || errno === 'EDQUOT') return cause;
  const message = `it could not be synced to disk (${errno}); check the disk, and fetch it again`;
  return new CastError('ERR_RDMC_WRITE_FAILED', message, { cause });
}
