import { chmodSync, closeSync, constants, fdatasyncSync, ftruncateSync, openSync, rmSync } from 'node:fs';
import {
  DELTA_FILE_BYTES,
  EARLY_SYNC_BYTES,
  MAX_EARLY_PULL_SYNCS,
  MAX_OPEN_PULL_FILES,
  PULL_PIECE_BYTES,
} from '../constants.js';
import { BlockSet } from '../delta/block-set.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { rangesOf } from '../resume/journal.js';
import { journalName, partName } from '../resume/names.js';
import { partIdentity } from '../resume/part-identity.js';
import { PartialJournal } from '../resume/partial-journal.js';
import type { SyncPort } from '../writer/sync-port.js';
import type { TemporaryDirectory } from '../writer/temporary-directory.js';

const OPEN_FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;

/** An incomplete file; it may be open. */
interface IncompleteFile {
  readonly entry: ManifestEntry;
  readonly path: Buffer;
  /** Pieces that are written. Undefined for a small file: an interrupted fetch leaves nothing of it. */
  readonly written: BlockSet | undefined;
  descriptor: number | undefined;
  /** While it is open, where a later fetch may continue it. */
  journal: PartialJournal | undefined;
  /** Written since its pieces were last noted in the journal. */
  unsyncedBytes: number;
  /** Why a sync has failed. The system says so once: the next sync of the file succeeds, although bytes are lost. */
  syncError: unknown;
  /** It was not made here, so its mode may be any. */
  isAdopted: boolean;
}

/** A file that is complete. */
export interface TakenFile {
  readonly descriptor: number;
  readonly path: Buffer;
  readonly isAdopted: boolean;
  /** Resolves when no early sync runs. Rejects where one has failed: then the file is lost, whatever its last sync says. */
  readonly syncedEarly: () => Promise<void>;
}

export interface IncompleteOptions {
  readonly temporary: TemporaryDirectory;
  /** Undefined: nothing is synced. */
  readonly sync: SyncPort | undefined;
  /** Whether a later fetch may continue incomplete files. */
  readonly isKept: () => boolean;
}

/**
 * Incomplete files of a fetch, whose pieces come in any order. The most recently used ones stay open. Large ones have names and
 * journals as those of a cast (`resume/names.ts`), so that a later fetch or cast continues them: a piece is in the journal when it
 * is on disk.
 */
export class IncompleteFiles {
  /** By entry, the least recently used first. */
  readonly #files = new Map<number, IncompleteFile>();
  #openCount = 0;
  /** Early syncs that run. They use descriptors, which are not closed meanwhile. */
  readonly #syncing = new Map<IncompleteFile, Promise<void>>();

  constructor(private readonly options: IncompleteOptions) {}

  /** An interrupted fetch or cast has left something of a file, in its place here. @throws errors of the system */
  adopt(index: number, entry: ManifestEntry): void {
    const file = this.#file(index, entry);
    file.isAdopted = true;
    // It may have got the mode of the file.
    chmodSync(file.path, 0o600);
  }

  /** A piece is in a file that was adopted. @param number of the piece in the file */
  hold(index: number, number: number): void {
    this.#files.get(index)!.written?.add(number);
  }

  /** The descriptor of a file. @throws errors of the system */
  use(index: number, entry: ManifestEntry): number {
    const file = this.#file(index, entry);
    this.#files.delete(index);
    this.#files.set(index, file);
    file.descriptor ??= this.#open(file);
    if (this.#openCount > MAX_OPEN_PULL_FILES) this.#closeOldest();
    return file.descriptor;
  }

  /** A piece was written to the descriptor. @param number of the piece in the file */
  wrote(index: number, number: number, bytes: number): void {
    const file = this.#files.get(index)!;
    file.written?.add(number);
    file.unsyncedBytes += bytes;
    if (file.unsyncedBytes < EARLY_SYNC_BYTES) return;
    if (!this.#syncing.has(file) && this.#syncing.size < MAX_EARLY_PULL_SYNCS) this.#startSync(file);
  }

  /**
   * The file is complete. The caller closes the descriptor, renames the file, and then calls `discard`: until then, the
   * journal stays.
   * @throws as `use`
   */
  take(index: number, entry: ManifestEntry): TakenFile {
    const descriptor = this.use(index, entry);
    const file = this.#files.get(index)!;
    const { path, isAdopted, journal } = file;
    this.#files.delete(index);
    this.#openCount -= 1;
    file.descriptor = undefined;
    journal?.release();
    return { descriptor, path, isAdopted, syncedEarly: () => this.#syncedEarly(file) };
  }

  /** Removes what is left of a file, and its journal. */
  discard(index: number, entry: ManifestEntry): void {
    const file = this.#files.get(index);
    this.#files.delete(index);
    if (file) this.#close(file);
    rmSync(this.#path(index, entry), { force: true });
    this.named(entry);
  }

  /** A file has got its name, or is gone: removes its journal. */
  named(entry: ManifestEntry): void {
    if (isLarge(entry)) rmSync(this.options.temporary.file(journalName(entry.path)), { force: true });
  }

  /** An early end: what is written of large files is on disk, and in their journals. Errors lose what they concern. */
  async settle(): Promise<void> {
    for (const file of this.#files.values()) {
      await this.#syncing.get(file);
      if (file.unsyncedBytes > 0) await this.#note(file);
    }
  }

  closeAll(): void {
    for (const file of this.#files.values()) this.#close(file);
  }

  #file(index: number, entry: ManifestEntry): IncompleteFile {
    const known = this.#files.get(index);
    if (known) return known;
    const pieces = Math.ceil(entry.size / PULL_PIECE_BYTES);
    const written = isLarge(entry) ? new BlockSet(pieces) : undefined;
    const file: IncompleteFile = {
      ...{ entry, written, path: this.#path(index, entry) },
      ...{ descriptor: undefined, journal: undefined, unsyncedBytes: 0, isAdopted: false },
      syncError: undefined,
    };
    this.#files.set(index, file);
    return file;
  }

  #path(index: number, entry: ManifestEntry): Buffer {
    return this.options.temporary.file(isLarge(entry) ? partName(entry.path) : index);
  }

  #open(file: IncompleteFile): number {
    const { entry, path, written } = file;
    const descriptor = openSync(path, OPEN_FLAGS, entry.mode | 0o600);
    try {
      // An interrupted fetch may have left bytes behind the end.
      if (file.isAdopted) ftruncateSync(descriptor, entry.size);
      const mayNote = this.options.isKept() && file.syncError === undefined;
      if (written && mayNote) file.journal = this.#newJournal(file, written);
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
    this.#openCount += 1;
    return descriptor;
  }

  /** Pieces that were written before the file was closed are on disk: `#closeOldest` syncs. */
  #newJournal({ entry }: IncompleteFile, written: BlockSet): PartialJournal {
    const place = this.options.temporary.file(journalName(entry.path));
    // Nothing is trusted that is not compared with hashes: pieces may come from an older form.
    const facts = { identity: partIdentity(entry), size: entry.size, authenticated: false };
    return new PartialJournal(place, facts, rangesOf(written, entry.size, PULL_PIECE_BYTES));
  }

  #startSync(file: IncompleteFile): void {
    const synced = this.#note(file).finally(() => this.#syncing.delete(file));
    this.#syncing.set(file, synced);
  }

  /** Syncs a file, and then notes in its journal what was written before. An error stays in the file. */
  async #note(file: IncompleteFile): Promise<void> {
    const { descriptor, journal, written, entry } = file;
    if (descriptor === undefined || !journal || !written || file.syncError !== undefined) return;
    const before = new BlockSet(written.blocks, Uint8Array.from(written.bits));
    file.unsyncedBytes = 0;
    try {
      await this.options.sync?.data(descriptor);
      // It may have been closed meanwhile; then this has no effect.
      journal.note(rangesOf(before, entry.size, PULL_PIECE_BYTES));
    } catch (error) {
      file.syncError = error;
    }
  }

  async #syncedEarly(file: IncompleteFile): Promise<void> {
    await this.#syncing.get(file);
    if (file.syncError !== undefined) throw file.syncError;
  }

  /** Of those without a sync that runs. The file will be opened again, and then the system may have forgotten an error. */
  #closeOldest(): void {
    for (const file of this.#files.values()) {
      if (file.descriptor === undefined || this.#syncing.has(file)) continue;
      if (file.unsyncedBytes > 0) this.#noteNow(file, file.descriptor);
      this.#close(file);
      return;
    }
  }

  /** As `#note`, at once. */
  #noteNow(file: IncompleteFile, descriptor: number): void {
    const { journal, written, entry } = file;
    try {
      if (this.options.sync) fdatasyncSync(descriptor);
      if (written && file.syncError === undefined)
        journal?.note(rangesOf(written, entry.size, PULL_PIECE_BYTES));
    } catch (error) {
      file.syncError ??= error;
    }
  }

  #close(file: IncompleteFile): void {
    const { descriptor, journal } = file;
    if (descriptor === undefined) return;
    file.descriptor = undefined;
    this.#openCount -= 1;
    file.unsyncedBytes = 0;
    journal?.release();
    file.journal = undefined;
    const syncing = this.#syncing.get(file);
    // A sync must not get a descriptor that another file has by then.
    if (syncing) void syncing.then(() => closeSync(descriptor));
    else closeSync(descriptor);
  }
}

function isLarge({ size }: ManifestEntry): boolean {
  return size >= DELTA_FILE_BYTES;
}
