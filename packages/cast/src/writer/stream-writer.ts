import { closeSync } from 'node:fs';
import { ArchivedEntries } from '../archive/archived-entries.js';
import type { CastProblem } from '../cast-summary.js';
import type { Checksum } from '../checksum.js';
import { encodeHeld } from '../delta/hash-frames.js';
import { CastError, givenUp, protocolError } from '../errors.js';
import type { ComparisonPolicy } from '../manifest/policy.js';
import { withRoom } from '../resume/kept-data.js';
import { Resumption } from '../resume/resumption.js';
import { SinkTargets } from '../resume/sink-target.js';
import { StagedTree } from '../resume/staged-tree.js';
import { decodeMessage } from '../stream/message-decoder.js';
import { commitAtOnce } from './commits.js';
import { Comparison, type SurplusReport } from './comparison.js';
import { DeferredEntries } from './deferred-entries.js';
import { FileAssembler } from './file-assembler.js';
import { FileModes } from './file-modes.js';
import { OlderFiles } from './older-files.js';
import { openDirectory } from './open-directory.js';
import { Outcomes } from './outcomes.js';
import { RecordStorage } from './record-storage.js';
import type { StoredReport, StoredSoFar } from './stored-report.js';
import { StreamOrder } from './stream-order.js';
import { asCastError } from './system-errors.js';
import { TemporaryDirectory } from './temporary-directory.js';
import type { WriterPorts } from './writer-ports.js';

/**
 * Stores the messages of one cast in a directory. No input can make it write elsewhere: paths are checked, every
 * directory on a path is opened from its parent without following links, and files get their names by renaming when
 * their checksum matches.
 */
export class StreamWriter {
  readonly #outcomes = new Outcomes();
  readonly #root: number;
  readonly #temporary: TemporaryDirectory;
  readonly #tree: StagedTree;
  readonly #resumption: Resumption;
  readonly #storage: RecordStorage;
  readonly #older: OlderFiles;
  /** In an archive cast. */
  readonly #archived: ArchivedEntries | undefined;
  readonly #files: FileAssembler;
  readonly #deferred: DeferredEntries;
  readonly #comparison: Comparison | undefined;
  readonly #order = new StreamOrder();
  #links = 0;
  #closed = false;
  #finished = false;
  #givenUp = false;
  #isTight = false;

  private readonly active: () => void;
  private readonly isGivenUp: () => boolean;
  private readonly durable: boolean;

  /** @throws CastError ERR_RDMC_READ_ONLY, ERR_RDMC_PERMISSION, ERR_RDMC_NO_SPACE and others */
  constructor(
    directory: string,
    castId: string,
    checksum: Checksum,
    {
      active: report = () => {},
      isGivenUp = () => false,
      commits = commitAtOnce,
      policy,
      durable = false,
      archive = false,
      resume,
    }: WriterPorts = {},
  ) {
    const active = (): void => {
      report();
      this.#temporary.touch();
    };
    this.active = active;
    this.isGivenUp = isGivenUp;
    this.durable = durable;
    this.#root = openDirectory(directory);
    try {
      const make = (): TemporaryDirectory => new TemporaryDirectory(this.#root, castId, durable);
      // A dry run removes nothing.
      this.#temporary = resume && !policy?.dryRun ? withRoom(this.#root, make) : make();
    } catch (error) {
      closeSync(this.#root);
      throw asCastError(error);
    }
    try {
      this.#resumption = new Resumption(this.#root, this.#temporary, resume, policy, durable);
    } catch (error) {
      this.#temporary.remove();
      closeSync(this.#root);
      throw asCastError(error);
    }
    this.#tree = new StagedTree(this.#root, this.#temporary.descriptor);
    this.#archived = policy?.archive ? ArchivedEntries.atThisHost(archive) : undefined;
    this.#older = new OlderFiles(this.#tree, checksum);
    const targets = new SinkTargets(this.#temporary, this.#resumption.keeping);
    const ports = { commits, active, targets, older: this.#older, modes: new FileModes(this.#archived) };
    this.#files = new FileAssembler(this.#tree, this.#outcomes, checksum, ports);
    this.#deferred = new DeferredEntries(this.#tree, this.#temporary, this.#outcomes, active, this.#archived);
    try {
      this.#comparison = policy && this.#compareBy(policy, checksum);
    } catch (error) {
      this.close();
      throw asCastError(error);
    }
    this.#storage = new RecordStorage({
      ...{ tree: this.#tree, outcomes: this.#outcomes, files: this.#files, deferred: this.#deferred },
      ...{ comparison: this.#comparison, order: this.#order, commits },
    });
  }

  #compareBy(policy: ComparisonPolicy, checksum: Checksum): Comparison {
    return new Comparison({
      ...{ policy, checksum, durable: this.durable, kept: this.#resumption.store },
      tree: this.#tree,
      older: this.#older,
      archived: this.#archived,
      outcomes: this.#outcomes,
      timeUnitNs: this.#temporary.timeUnitNs(),
      onDirectory: (directory) => this.#deferred.directory(directory),
      active: this.active,
      step: () => this.#step(),
    });
  }

  /** Bytes that can still be stored in the directory. */
  get freeBytes(): number {
    return this.#resumption.freeBytes;
  }

  get stored(): StoredSoFar {
    const { files, bytes } = this.#files;
    return { files, bytes };
  }

  get problems(): readonly CastProblem[] {
    return this.#outcomes.problems.kept;
  }

  /**
   * Compares a piece of the manifest with the directory, and returns a state for each of its entries. Sets modes and
   * times of files that differ in nothing else, unless the policy forbids changes.
   * @throws CastError where nothing more can be stored
   */
  examine(first: number, count: number, data: string): Uint8Array {
    if (!this.#comparison) throw protocolError('the sender sent a manifest that it did not announce');
    const steps = this.#comparison.examine(first, count, data);
    for (;;) {
      const { value, done } = steps.next();
      if (done) return value;
      this.#throwIfGivenUp();
    }
  }

  /**
   * After the last piece of the manifest: what the directory has beside its entries. Removes what interrupted casts have
   * left where it takes room that this cast needs.
   */
  surplus(): SurplusReport {
    const room = this.#comparison?.room;
    this.#resumption.makeRoom(room?.missingBytes ?? 0);
    this.#isTight = room !== undefined && this.#resumption.unusedBytes < room.bytesBesideOlder;
    return this.#comparison?.surplus() ?? { count: 0, paths: [] };
  }

  /**
   * After `surplus`: bytes that the files which the directory lacks may take, with what there is of them on disk, and
   * with what the files that they replace free in time. What this cast has taken of interrupted ones is no longer free.
   */
  get roomBytes(): number {
    return this.freeBytes + (this.#comparison?.room.ownBytes ?? 0);
  }

  /** Whether later files need the room of older ones that earlier files replace, so that these must get their names soon. */
  get isTight(): boolean {
    return this.#isTight;
  }

  /** Bytes that interrupted casts have left here, and that this cast does not receive again, as far as it is known. */
  get resumedBytes(): number {
    return this.#older.resumedBytes + (this.#comparison?.restoredBytes ?? 0);
  }

  /**
   * Compares blocks of an older file with hashes of the sender. Returns which of them it has: see `delta/hash-frames.ts`.
   * @throws CastError ERR_RDMC_CAST_PROTOCOL, ERR_RDMC_ABORTED
   */
  compareBlocks(index: number, first: number, data: string): string {
    return encodeHeld(this.#older.compare(index, first, data, () => this.#step()));
  }

  /** Entries that could not be built from older files in the streams so far. */
  get unbuilt(): number[] {
    return [...this.#files.unbuilt.keys()];
  }

  /** Stores the next message. @throws CastError where nothing more can be stored */
  store(sequence: number, message: Buffer): void {
    for (const _ of this.steps(sequence, message));
  }

  /** As `store`, one record per step. Iterate to the end. */
  *steps(sequence: number, message: Buffer): Generator<void, void, undefined> {
    this.#order.enter(sequence);
    for (const record of decodeMessage(message, sequence)) {
      this.#storage.take(record);
      this.active();
      yield;
      this.#throwIfGivenUp();
    }
  }

  /**
   * Call after the last message: makes links, removes surplus entries, gives new directories their names, sets modes and
   * times of directories, removes temporary files.
   * @param messages of all streams
   * @param remove whether surplus entries are removed; they stay where an entry of the cast could not be stored
   */
  finish(messages: number, remove = false): StoredReport {
    for (const descriptor of this.stagedSteps(messages, remove)) closeSync(descriptor);
    for (const descriptor of this.lastSteps()) closeSync(descriptor);
    return this.report();
  }

  /**
   * The first part of `finish`, until new directories are complete under hidden names. All files must have their names.
   * Yields descriptors of new directories, when they will not change again; the caller closes them. Iterate to the end.
   */
  *stagedSteps(messages: number, remove = false): Generator<number, void, undefined> {
    this.#order.finish(messages, this.#comparison !== undefined);
    this.#reportUnbuilt();
    for (const isMade of this.#deferred.links()) {
      if (isMade) this.#links += 1;
      this.#throwIfGivenUp();
    }
    if (remove && this.#outcomes.problems.count === 0) {
      for (const _ of this.#comparison?.remove() ?? []) this.#throwIfGivenUp();
    }
    for (const descriptor of this.#deferred.finishStaged()) {
      yield descriptor;
      this.#throwIfGivenUp();
    }
  }

  /**
   * The second part of `finish`, without the report: call it when everything that the first part has yielded is on disk.
   * Yields descriptors of changed directories as the first part does.
   */
  *lastSteps(): Generator<number, void, undefined> {
    for (const descriptor of this.#deferred.publish()) {
      if (descriptor !== undefined) yield descriptor;
      this.#throwIfGivenUp();
    }
    for (const descriptor of this.#deferred.finishDirectories()) {
      yield descriptor;
      this.#throwIfGivenUp();
    }
    this.#finished = true;
  }

  /** Files that the sender did not send again. */
  #reportUnbuilt(): void {
    for (const [index, path] of this.#files.unbuilt) {
      this.#outcomes.attempt(index, path, () => {
        const message =
          'its older file here changed during the cast, and it was not sent whole; cast it again';
        throw new CastError('ERR_RDMC_HASH_MISMATCH', message);
      });
    }
  }

  /** Removes temporary files. @throws errors of the system */
  report(): StoredReport {
    this.close();
    const { kept, count } = this.#outcomes.problems;
    const unset = this.#archived?.unset;
    return {
      ...this.stored,
      directories: this.#deferred.directories,
      links: this.#links,
      keptBytes: this.#files.keptBytes,
      resumedBytes: this.resumedBytes,
      unchangedFiles: this.#comparison?.unchanged.files ?? 0,
      unchangedBytes: this.#comparison?.unchanged.bytes ?? 0,
      removed: this.#comparison?.removed ?? 0,
      ...(unset && { unset }),
      problems: kept,
      problemCount: count,
      names: [...(this.#comparison?.roots ?? this.#storage.roots)].map(
        (name) => new Uint8Array(Buffer.from(name, 'latin1')),
      ),
    };
  }

  /** The cast ends early. Only `settle` and `close` may follow. Idempotent. */
  giveUp(): void {
    if (!this.#finished && !this.#closed) this.#givenUp = true;
  }

  /**
   * The cast ends early: what was received of an incomplete file is on disk, so that a later cast continues there.
   * @throws errors of the system
   */
  async settle(sync: (descriptor: number) => Promise<void>): Promise<void> {
    if (!this.#finished && !this.#closed) await this.#files.settle(sync);
  }

  /** Removes temporary files that no later cast can use, and closes all descriptors. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.giveUp();
    this.#closed = true;
    this.#tree.end();
    try {
      const isWhole = this.#finished || this.#resumption.keeping === undefined;
      if (isWhole) this.#files.discard();
      else this.#files.leave(this.durable);
      this.#resumption.end(isWhole, this.active);
    } finally {
      closeSync(this.#root);
    }
  }

  /** Something was done. @throws CastError ERR_RDMC_ABORTED */
  #step(): void {
    this.active();
    this.#throwIfGivenUp();
  }

  /** @throws CastError ERR_RDMC_ABORTED */
  #throwIfGivenUp(): void {
    if (this.#givenUp || this.isGivenUp()) throw givenUp();
  }
}
