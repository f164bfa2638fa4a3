import { closeSync, statfsSync } from 'node:fs';
import { PULL_PIECE_BYTES } from '../constants.js';
import { BlockSet } from '../delta/block-set.js';
import { CastError, protocolError } from '../errors.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { decodePiece } from '../manifest/piece-decoder.js';
import type { ComparisonKind } from '../manifest/policy.js';
import { StagedTree } from '../resume/staged-tree.js';
import { shown } from '../stream/paths.js';
import { DeferredEntries } from '../writer/deferred-entries.js';
import { removeLeftovers } from '../writer/leftovers.js';
import { Outcomes } from '../writer/outcomes.js';
import type { SyncPort } from '../writer/sync-port.js';
import { asCastError } from '../writer/system-errors.js';
import { TemporaryDirectory } from '../writer/temporary-directory.js';
import { checkWritable, openReceivingDirectory } from '../writer/usable-directory.js';
import { HASH_BYTES, leafHash, rootHash } from './hash-tree.js';
import { digestOf } from './manifest-digest.js';
import { OlderForm } from './older-form.js';
import { type PiecedFile, PieceMap } from './piece-map.js';
import { piecesIn } from './piece-message.js';
import { PulledFiles } from './pulled-files.js';
import type { PiecesHere, PulledReport } from './writer-orders.js';

export interface PieceStoreOptions {
  readonly directory: string;
  readonly castId: string;
  /** Undefined: nothing is synced. */
  readonly sync: SyncPort | undefined;
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
  readonly #temporary: TemporaryDirectory;
  readonly #tree: StagedTree;
  readonly #outcomes = new Outcomes();
  readonly #deferred: DeferredEntries;
  readonly #files: PulledFiles;
  readonly #manifest: { readonly data: string }[] = [];
  readonly #entries: ManifestEntry[] = [];
  readonly #map = new PieceMap();
  readonly #hashParts: Buffer[] = [];
  #hashes: Buffer = Buffer.alloc(0);
  #has = new BlockSet(0);
  /** By number of the file in the map: pieces that it lacks. */
  #left = new Uint32Array(0);
  /** Entries that the server does not send any more. */
  readonly #withdrawn = new Set<number>();
  #receivedBytes = 0;
  #unchangedFiles = 0;
  #unchangedBytes = 0;
  #keptBytes = 0;
  #isFinished = false;
  #closed = false;
  private readonly step: () => void;
  private readonly active: () => void;

  /** @throws CastError where the directory cannot be used */
  constructor({ directory, castId, sync, step, active }: PieceStoreOptions) {
    this.step = step;
    this.active = active;
    this.#root = openReceivingDirectory(directory);
    try {
      checkWritable(this.#root, directory);
      removeLeftovers(this.#root, true);
      this.#temporary = TemporaryDirectory.ofFetch(this.#root, castId);
    } catch (error) {
      closeSync(this.#root);
      throw asCastError(error);
    }
    this.#tree = new StagedTree(this.#root, this.#temporary.descriptor);
    this.#deferred = new DeferredEntries(this.#tree, this.#temporary, this.#outcomes, active);
    this.#files = new PulledFiles(this.#tree, this.#temporary, this.#outcomes, sync, active);
  }

  /** A piece of the manifest. @throws CastError ERR_RDMC_CAST_PROTOCOL, ERR_RDMC_UNSAFE_PATH */
  entries(first: number, count: number, data: string): void {
    if (first !== this.#entries.length) throw protocolError('the server skipped entries');
    this.#manifest.push({ data });
    for (const entry of decodePiece(count, data)) {
      const { kind, size } = entry;
      if (kind !== 'file' && kind !== 'directory')
        throw protocolError(`the server sent a link: ${shown(entry.path)}`);
      if (kind === 'file') this.#map.add(this.#entries.length, size);
      this.#entries.push(entry);
    }
  }

  /** Hashes of pieces. @throws CastError ERR_RDMC_CAST_PROTOCOL */
  hashes(first: number, data: string): void {
    const bytes = Buffer.from(data, 'base64');
    const before = this.#hashParts.reduce((sum, { length }) => sum + length, 0);
    if (first * HASH_BYTES !== before || bytes.length % HASH_BYTES !== 0)
      throw protocolError('the server skipped hashes');
    this.#hashParts.push(bytes);
  }

  /**
   * Checks the list against its root hash, and compares it with the directory. Returns what is here.
   * @throws CastError ERR_RDMC_HASH_MISMATCH, ERR_RDMC_NO_SPACE and others
   */
  async begin(root: string, compare: ComparisonKind): Promise<PiecesHere> {
    this.#hashes = Buffer.concat(this.#hashParts);
    if (this.#hashes.length !== this.#map.count * HASH_BYTES)
      throw protocolError('the server skipped hashes');
    if (rootHash(digestOf(this.#manifest), this.#hashes).toString('hex') !== root) {
      throw new CastError(
        'ERR_RDMC_HASH_MISMATCH',
        'the list of entries is not that of the root hash of the server',
      );
    }
    this.#has = new BlockSet(this.#map.count);
    this.#left = Uint32Array.from(this.#map.files, ({ pieces }) => pieces);
    const timeUnitNs = this.#temporary.timeUnitNs();
    this.#checkRoom(compare, timeUnitNs);
    for (const number of this.#map.files.keys()) {
      this.step();
      this.#look(number, compare, timeUnitNs);
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
    let isWhole = true;
    for (const { piece, bytes } of piecesIn(message, this.#map)) {
      this.step();
      if (this.#has.has(piece)) continue;
      if (!this.#isPiece(piece, bytes)) isWhole = false;
      else {
        this.#receivedBytes += bytes.length;
        this.#put(piece, bytes);
        await this.#files.room();
      }
    }
    return isWhole;
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** The server does not send these files any more. */
  withdraw(entries: readonly number[], code: string, message: string): void {
    for (const index of entries) {
      const number = this.#map.files.findIndex(({ entry }) => entry === index);
      if (number < 0 || this.#left[number] === 0 || this.#withdrawn.has(index)) continue;
      this.#withdrawn.add(index);
      this.#outcomes.problems.add({ path: shown(this.#entries[index]!.path), code, message });
      this.#files.discard(index);
    }
  }

  /** The server has sent everything. @throws CastError where pieces are missing, or where a directory cannot be synced */
  async finish(sync: SyncPort | undefined): Promise<PulledReport> {
    await this.#files.drained();
    for (const [number, { entry }] of this.#map.files.entries()) {
      const isGone = this.#withdrawn.has(entry) || this.#outcomes.missing.has(entry);
      if (this.#left[number]! > 0 && !isGone)
        throw protocolError(
          `the server ended the fetch, and pieces of ${shown(this.#entries[entry]!.path)} are missing`,
        );
    }
    this.#makeDirectories((index, path) =>
      this.#outcomes.attempt(index, path, () => void this.#tree.open(path)),
    );
    await this.#syncEach(this.#deferred.finishStaged(), sync);
    for (const _ of this.#deferred.publish());
    await this.#syncEach(this.#deferred.finishDirectories(), sync);
    this.#isFinished = true;
    return this.#report();
  }

  /** @throws CastError where a directory cannot be synced */
  async #syncEach(descriptors: Iterable<number>, sync: SyncPort | undefined): Promise<void> {
    for (const descriptor of descriptors) {
      try {
        await sync?.directory(descriptor);
      } catch (error) {
        throw asCastError(error);
      } finally {
        closeSync(descriptor);
        this.active();
      }
    }
  }

  /** Removes incomplete files. Complete ones stay, also where the fetch has ended early. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#files.drained().catch(() => {});
    if (!this.#isFinished) this.#giveUp();
    this.#files.close();
    this.#tree.end();
    this.#temporary.remove();
    closeSync(this.#root);
  }

  #report(): PulledReport {
    const { files, bytes } = this.#files;
    const { kept, count } = this.#outcomes.problems;
    return {
      ...{ files, bytes, directories: this.#deferred.directories },
      ...{ receivedBytes: this.#receivedBytes, keptBytes: this.#keptBytes },
      ...{ unchangedFiles: this.#unchangedFiles, unchangedBytes: this.#unchangedBytes },
      ...{ problems: kept, problemCount: count },
    };
  }

  /** Gives new directories with complete files their modes and names, as far as possible. */
  #giveUp(): void {
    try {
      this.#makeDirectories((_, path) => this.#tree.existing(path) !== undefined);
      for (const descriptor of this.#deferred.finishStaged()) closeSync(descriptor);
      for (const _ of this.#deferred.publish());
    } catch {
      // The disk fails, or something is in the way: they are removed with the temporary directory.
    }
  }

  /** At the end, so that an early end leaves no empty directories. Their modes are set when everything is in them. */
  #makeDirectories(make: (index: number, path: Buffer) => boolean): void {
    for (const [index, { kind, path, mode, time }] of this.#entries.entries())
      if (kind === 'directory' && make(index, path))
        this.#deferred.directory({ type: 'directory', index, mode, time, path });
  }

  /** @throws CastError ERR_RDMC_NO_SPACE */
  #checkRoom(compare: ComparisonKind, timeUnitNs: bigint): void {
    const { bavail, bsize } = statfsSync(`/proc/self/fd/${this.#root}`);
    let needed = 0;
    for (const { entry, size } of this.#map.files) {
      const isHere =
        compare !== 'none' && this.#older(entry)?.isLike(this.#entries[entry]!, timeUnitNs) === true;
      if (!isHere) needed += size;
    }
    if (needed <= bavail * bsize) return;
    const message = `the directory has ${bavail * bsize} bytes free, but ${needed} are needed; make room there`;
    throw new CastError('ERR_RDMC_NO_SPACE', message);
  }

  #older(entry: number): OlderForm | undefined {
    return OlderForm.at(this.#tree, this.#entries[entry]!.path);
  }

  /** Looks what is here of a file. */
  #look(number: number, compare: ComparisonKind, timeUnitNs: bigint): void {
    const file = this.#map.files[number]!;
    const entry = this.#entries[file.entry]!;
    const older = compare === 'none' ? undefined : this.#older(file.entry);
    const isLike = older?.isLike(entry, timeUnitNs) === true;
    if (isLike && (compare === 'size-time' || this.#isEqual(older, file))) {
      this.#unchangedFiles += 1;
      this.#unchangedBytes += file.size;
      for (let at = 0; at < file.pieces; at += 1) this.#has.add(file.first + at);
      this.#left[number] = 0;
    } else if (file.pieces === 0) this.#files.complete(file.entry, entry);
    else if (older) this.#takeFrom(older, file);
  }

  /** Whether the older form has the same contents. */
  #isEqual(older: OlderForm, file: PiecedFile): boolean {
    let equal = 0;
    this.#eachEqual(older, file, () => {
      equal += 1;
    });
    return equal === file.pieces;
  }

  /** Copies the pieces that an older form has at the same offsets. */
  #takeFrom(older: OlderForm, file: PiecedFile): void {
    this.#eachEqual(older, file, (piece, bytes) => {
      this.#keptBytes += bytes.length;
      this.#put(piece, bytes);
    });
  }

  #eachEqual(older: OlderForm, file: PiecedFile, use: (piece: number, bytes: Buffer) => void): void {
    const source = older.open();
    if (!source) return;
    const chunk = Buffer.allocUnsafe(Math.min(PULL_PIECE_BYTES, file.size));
    try {
      for (let number = 0; number < file.pieces; number += 1) {
        this.step();
        const piece = file.first + number;
        const bytes = chunk.subarray(0, this.#map.bytesOf(piece));
        if (!source.read(bytes, number * PULL_PIECE_BYTES)) return;
        if (this.#isPiece(piece, bytes)) use(piece, bytes);
      }
    } finally {
      source.close();
    }
  }

  #isPiece(piece: number, bytes: Buffer): boolean {
    const expected = this.#hashes.subarray(piece * HASH_BYTES, (piece + 1) * HASH_BYTES);
    return leafHash(bytes).equals(expected);
  }

  /** Writes a piece that was checked. */
  #put(piece: number, bytes: Buffer): void {
    this.#has.add(piece);
    const number = this.#map.fileNumber(piece);
    const { entry } = this.#map.fileOf(piece);
    if (this.#withdrawn.has(entry) || this.#outcomes.missing.has(entry)) return;
    if (!this.#files.write(entry, this.#entries[entry]!, this.#map.offsetOf(piece), bytes)) return;
    this.#left[number]! -= 1;
    if (this.#left[number] === 0) this.#files.complete(entry, this.#entries[entry]!);
  }
}
