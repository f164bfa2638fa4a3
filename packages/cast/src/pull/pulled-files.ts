import { closeSync, futimesSync, renameSync, rmSync, writeSync } from 'node:fs';
import { MAX_OPEN_PULL_FILES } from '../constants.js';
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
import { OpenFiles } from './open-files.js';

/** Incomplete files of a fetch: pieces are written in any order, and a file gets its name when it is complete and synced. */
export class PulledFiles {
  /** Files that have their names, and the sum of their sizes. */
  files = 0;
  bytes = 0;
  readonly #open: OpenFiles;
  readonly #modes = new FileModes();
  readonly #syncing = new Set<Promise<void>>();
  /** Nothing more can be stored. */
  #fatal: unknown;

  constructor(
    private readonly tree: ReceivingTree,
    private readonly temporary: TemporaryDirectory,
    private readonly outcomes: Outcomes,
    /** Undefined: nothing is synced. */
    private readonly sync: SyncPort | undefined,
    private readonly active: () => void,
  ) {
    this.#open = new OpenFiles((index) => temporary.file(index));
  }

  /** Returns false where the file has failed. @throws CastError where nothing more can be stored */
  write(index: number, { path, mode }: ManifestEntry, offset: number, bytes: Buffer): boolean {
    const isWritten = this.outcomes.attempt(index, path, () => {
      const descriptor = this.#open.use(index, mode);
      for (let done = 0; done < bytes.length; )
        done += writeSync(descriptor, bytes, done, bytes.length - done, offset + done);
    });
    if (!isWritten) this.discard(index);
    return isWritten;
  }

  /** All pieces of the file are written. @throws CastError where nothing more can be stored */
  complete(index: number, entry: ManifestEntry): void {
    const { path, mode, time } = entry;
    let descriptor: number | undefined;
    const isReady = this.outcomes.attempt(index, path, () => {
      descriptor = this.#open.take(index, mode);
      this.#modes.complete(descriptor, mode);
      const seconds = secondsOf(time);
      futimesSync(descriptor, seconds, seconds);
    });
    if (!isReady || descriptor === undefined) this.discard(index);
    else if (this.sync === undefined) this.#commit(index, entry, descriptor);
    else this.#commitSynced(index, entry, descriptor, this.sync);
  }

  discard(index: number): void {
    this.#open.close(index);
    rmSync(this.temporary.file(index), { force: true });
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

  close(): void {
    this.#open.closeAll();
  }

  #commitSynced(index: number, entry: ManifestEntry, descriptor: number, sync: SyncPort): void {
    const committed = (async () => {
      try {
        await sync.file(descriptor).catch((cause: unknown) => {
          throw notSynced(cause);
        });
        this.#commit(index, entry, descriptor);
      } catch (error) {
        closeSync(descriptor);
        this.#fail(index, entry, error);
      }
    })();
    const settled = committed.finally(() => this.#syncing.delete(settled));
    this.#syncing.add(settled);
  }

  /** Gives the file its name, and closes it. */
  #commit(index: number, { path, size }: ManifestEntry, descriptor: number): void {
    const isNamed = this.outcomes.attempt(index, path, () => {
      const { directory, name } = this.tree.place(path);
      renameSync(this.temporary.file(index), within(directory, name));
    });
    closeSync(descriptor);
    this.active();
    if (isNamed) {
      this.files += 1;
      this.bytes += size;
    } else this.discard(index);
  }

  #fail(index: number, { path }: ManifestEntry, error: unknown): void {
    try {
      this.outcomes.attempt(index, path, () => {
        throw error;
      });
    } catch (fatal) {
      this.#fatal ??= fatal;
    }
    if (!isFatal(error)) this.discard(index);
  }
}

function notSynced(cause: unknown): unknown {
  const errno = codeOf(cause) ?? messageOf(cause);
  if (errno === 'ENOSPC' || errno === 'EDQUOT') return cause;
  const message = `it could not be synced to disk (${errno}); check the disk, and fetch it again`;
  return new CastError('ERR_RDMC_WRITE_FAILED', message, { cause });
}
