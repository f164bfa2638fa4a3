import { closeSync } from 'node:fs';
import { BlockSet } from '../delta/block-set.js';
import { protocolError } from '../errors.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import type { ComparisonKind } from '../manifest/policy.js';
import { expireKept, withRoom } from '../resume/kept-data.js';
import type { ResumeLimit } from '../resume/resume-limit.js';
import { StagedTree } from '../resume/staged-tree.js';
import { shown } from '../stream/paths.js';
import { removeLeftovers } from '../writer/leftovers.js';
import { Outcomes } from '../writer/outcomes.js';
import type { SyncPort } from '../writer/sync-port.js';
import { asCastError } from '../writer/system-errors.js';
import { TemporaryDirectory } from '../writer/temporary-directory.js';
import { checkWritable, openReceivingDirectory } from '../writer/usable-directory.js';
import { FilesHere } from './files-here.js';
import { LeadSource } from './lead-source.js';
import { PieceList } from './piece-list.js';
import type { PieceMap } from './piece-map.js';
import { piecesIn } from './piece-message.js';
import { PulledDirectories } from './pulled-directories.js';
import { PulledFiles } from './pulled-files.js';
import { rootNames } from './root-names.js';
import type { PiecesHere, PulledReport } from './writer-orders.js';

export interface PieceStoreOptions {
  readonly directory: string;
  readonly castId: string;
  /** Undefined: nothing is synced. */
  readonly sync: SyncPort | undefined;
  /** Whether there may be links (default false). */
  readonly hasLinks?: boolean;
  /** How much interrupted fetches and casts may leave; undefined where this one neither takes nor leaves anything. */
  readonly resumeLimit?: ResumeLimit | undefined;
  /** Called after each step; it may throw, which ends the work. */
  readonly step: () => void;
  /** Called when the disk has done something. */
  readonly active: () => void;
}

/**
 * Stores the pieces of one fetch in a directory, each only if its hash is that of the server's list. No input can make it write elsewhere:
 * paths are checked, every directory is opened from its parent without following links, and files get their names by
 * renaming when all of their pieces are there.
 */
export class PieceStore {
  readonly #root: number;
  readonly #directory: string;
  readonly #temporary: TemporaryDirectory;
  readonly #tree: StagedTree;
  readonly #outcomes = new Outcomes();
  readonly #directories: PulledDirectories;
  readonly #files: PulledFiles;
  readonly #list: PieceList;
  #has = new BlockSet(0);
  /** By number of the file in the map: pieces that it lacks. */
  #left = new Uint32Array(0);
  #receivedBytes = 0;
  /** What was here before. */
  #here: FilesHere | undefined;
  readonly #resumeLimit: ResumeLimit | undefined;
  /** Files that are complete without a piece of the server; they get their names when it has begun. */
  #early: number[] | undefined = [];
  /** Whether a later fetch may use what this one leaves. */
  #isKept = false;
  #closed = false;
  private readonly step: () => void;
  private readonly sync: SyncPort | undefined;

  /** @throws CastError where the directory cannot be used */
  constructor({ directory, castId, sync, hasLinks, resumeLimit, step, active }: PieceStoreOptions) {
    this.step = step;
    this.sync = sync;
    this.#list = new PieceList(hasLinks);
    this.#directory = directory;
    this.#resumeLimit = resumeLimit;
    this.#root = openReceivingDirectory(directory);
    try {
      checkWritable(this.#root, directory);
      removeLeftovers(this.#root, true);
      // Other leftovers are removed where they take room that is needed.
      expireKept(this.#root, resumeLimit ?? { share: 1 });
      this.#temporary = withRoom(
        this.#root,
        () => new TemporaryDirectory(this.#root, castId, sync !== undefined),
      );
    } catch (error) {
      closeSync(this.#root);
      throw asCastError(error);
    }
    this.#tree = new StagedTree(this.#root, this.#temporary.descriptor);
    this.#directories = new PulledDirectories(this.#tree, this.#temporary, this.#outcomes, active);
    this.#files = new PulledFiles({
      ...{ tree: this.#tree, temporary: this.#temporary, outcomes: this.#outcomes, sync, active },
      isKept: () => this.#isKept,
    });
  }

  /** A piece of the manifest. As `PieceList.addEntries`. */
  entries(first: number, count: number, data: string): void {
    this.#list.addEntries(first, count, data);
  }

  /** Hashes of pieces. As `PieceList.addHashes`. */
  hashes(first: number, data: string): void {
    this.#list.addHashes(first, data);
  }

  /**
   * Checks the list against its root hash, and compares it with the directory. Returns what is here.
   * @throws CastError ERR_RDMC_HASH_MISMATCH, ERR_RDMC_NO_SPACE and others
   */
  async begin(root: string, compare: ComparisonKind): Promise<PiecesHere> {
    this.#list.check(root);
    this.#has = new BlockSet(this.#map.count);
    this.#left = Uint32Array.from(this.#map.files, ({ pieces }) => pieces);
    this.#isKept = this.#resumeLimit !== undefined && compare !== 'none';
    if (!this.#isKept) this.#temporary.markUseless();
    this.#here = this.#filesHere(compare);
    this.#here.takeLeft();
    for (const number of this.#map.files.keys()) {
      this.step();
      this.#here.look(number);
      await this.#files.room();
    }
    let lackingBytes = 0;
    for (let piece = 0; piece < this.#map.count; piece += 1)
      if (!this.#has.has(piece)) lackingBytes += this.#map.bytesOf(piece);
    return { bits: this.#has.bits, lackingBytes };
  }

  /**
   * Stores the pieces of a message that are those of the list. Returns false where another one was among them.
   * @throws CastError where nothing more can be stored, or where the message is malformed
   */
  async store(message: Buffer): Promise<boolean> {
    await this.#begun();
    let isWhole = true;
    for (const { piece, bytes } of piecesIn(message, this.#map)) {
      this.step();
      if (this.#has.has(piece)) continue;
      if (!this.#list.isPiece(piece, bytes)) isWhole = false;
      else {
        this.#receivedBytes += bytes.length;
        this.#put(piece, bytes);
        await this.#files.room();
      }
    }
    return isWhole;
  }

  /** Bits of the pieces that are here. */
  get pieces(): Uint8Array {
    return this.#has.bits;
  }

  /** For a fetch that is complete: its files, to send them to others. @throws errors of the system */
  leadSource(): LeadSource {
    return new LeadSource(this.#directory, this.#list);
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** The server does not send these files any more. What has their names is older: no hard link of this fetch may be made to it. */
  withdraw(entries: readonly number[], code: string, message: string): void {
    for (const index of entries) {
      const number = this.#map.files.findIndex(({ entry }) => entry === index);
      if (number < 0 || this.#left[number] === 0 || this.#outcomes.missing.has(index)) continue;
      this.#outcomes.missing.add(index);
      this.#outcomes.problems.add({ path: shown(this.#entries[index]!.path), code, message });
      this.#files.discard(index, this.#entries[index]!);
    }
  }

  /** The server has sent everything. @throws CastError where pieces are missing, or where a directory cannot be synced */
  async finish(): Promise<PulledReport> {
    await this.#begun();
    await this.#files.drained();
    for (const [number, { entry }] of this.#map.files.entries()) {
      if (this.#left[number]! > 0 && !this.#outcomes.missing.has(entry))
        throw protocolError(
          `the server ended the fetch, and pieces of ${shown(this.#entries[entry]!.path)} are missing`,
        );
    }
    await this.#directories.finish(this.#entries, this.sync);
    this.#isKept = false;
    // The server is told next: then nothing but the files is left here.
    this.#letGo();
    return this.#report();
  }

  /**
   * After an early end, complete files stay; those of new directories, and incomplete large files, stay hidden, for a later
   * fetch. The rest is removed.
   */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#files.drained().catch(() => {});
    if (this.#isKept) await this.#files.settle();
    try {
      this.#letGo();
    } finally {
      closeSync(this.#root);
    }
  }

  /** Idempotent. */
  #letGo(): void {
    this.#files.close();
    this.#tree.end();
    if (this.#isKept) {
      this.#temporary.keep();
      expireKept(this.#root, this.#resumeLimit!);
    } else this.#temporary.remove();
  }

  get #entries(): readonly ManifestEntry[] {
    return this.#list.entries;
  }

  get #map(): PieceMap {
    return this.#list.map;
  }

  #report(): PulledReport {
    const { files, bytes } = this.#files;
    const { unchangedFiles, unchangedBytes, keptBytes, resumedBytes } = this.#here!;
    const { kept, count } = this.#outcomes.problems;
    return {
      ...{ files, bytes, directories: this.#directories.count, links: this.#directories.links },
      ...{ receivedBytes: this.#receivedBytes, keptBytes, resumedBytes, unchangedFiles, unchangedBytes },
      names: rootNames(this.#entries),
      ...{ problems: kept, problemCount: count },
    };
  }

  #filesHere(compare: ComparisonKind): FilesHere {
    return new FilesHere({
      ...{ root: this.#root, temporary: this.#temporary, tree: this.#tree, list: this.#list },
      ...{ compare, mayTake: this.#isKept, durable: this.sync !== undefined, step: this.step },
      found: {
        unchanged: ({ first, pieces }) => {
          for (let at = 0; at < pieces; at += 1) this.#has.add(first + at);
          if (pieces > 0) this.#left[this.#map.fileNumber(first)] = 0;
        },
        empty: ({ entry }) => this.#complete(entry),
        adopt: ({ entry }) => void this.#files.adopt(entry, this.#entries[entry]!),
        hold: (piece) => this.#hold(piece),
        put: (piece, bytes) => this.#put(piece, bytes),
      },
    });
  }

  /** The server has begun: nothing changes here before. */
  async #begun(): Promise<void> {
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const entry of early) {
      this.step();
      this.#complete(entry);
      await this.#files.room();
    }
  }

  #complete(entry: number): void {
    if (this.#early) this.#early.push(entry);
    else this.#files.complete(entry, this.#entries[entry]!);
  }

  /** A piece is in its file already. */
  #hold(piece: number): void {
    const { entry, first } = this.#map.fileOf(piece);
    if (this.#outcomes.missing.has(entry)) return;
    this.#has.add(piece);
    this.#files.hold(entry, piece - first);
    this.#isThere(piece);
  }

  /** Writes a piece that was checked. */
  #put(piece: number, bytes: Buffer): void {
    if (this.#has.has(piece)) return;
    this.#has.add(piece);
    const { entry, first } = this.#map.fileOf(piece);
    if (this.#outcomes.missing.has(entry)) return;
    if (this.#files.write(entry, this.#entries[entry]!, piece - first, bytes)) this.#isThere(piece);
  }

  /** A piece is written; its file may be complete now. */
  #isThere(piece: number): void {
    const number = this.#map.fileNumber(piece);
    const { entry } = this.#map.fileOf(piece);
    this.#left[number]! -= 1;
    if (this.#left[number] === 0) this.#complete(entry);
  }
}
