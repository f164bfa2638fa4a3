import { closeSync, constants, openSync, statfsSync } from 'node:fs';
import type { CastProblem } from '../cast-summary.js';
import type { Checksum } from '../checksum.js';
import { encodeHeld } from '../delta/hash-frames.js';
import { CastError, givenUp, protocolError } from '../errors.js';
import type { ComparisonPolicy } from '../manifest/policy.js';
import { FileStatus } from '../stream/layout.js';
import { decodeMessage } from '../stream/message-decoder.js';
import type {
  DirectoryRecord,
  FileBeginRecord,
  FileEndRecord,
  HardLinkRecord,
  StreamRecord,
  SymbolicLinkRecord,
} from '../stream/records.js';
import { type Commits, commitAtOnce } from './commits.js';
import { Comparison, type SurplusReport } from './comparison.js';
import { DeferredEntries } from './deferred-entries.js';
import { DirectoryTree } from './directory-tree.js';
import { FileAssembler } from './file-assembler.js';
import { OlderFiles } from './older-files.js';
import { Outcomes } from './outcomes.js';
import type { StoredReport, StoredSoFar } from './stored-report.js';
import { type EntryKinds, StreamOrder } from './stream-order.js';
import { asCastError } from './system-errors.js';
import { TemporaryDirectory } from './temporary-directory.js';

const OPEN_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY;

/** Callbacks of a writer. */
export interface WriterPorts {
  /** Called whenever something has been done, so that long work is seen to make progress. */
  readonly active?: () => void;
  /** Called after every record: whether another thread has given up the cast. */
  readonly isGivenUp?: () => boolean;
  /** Decides when files get their names (default: as soon as they are complete). */
  readonly commits?: Commits;
  /** How entries are compared before they are sent (default: every entry of the stream is stored). */
  readonly policy?: ComparisonPolicy | undefined;
  /** Whether what is changed without a stream must be on disk, too. */
  readonly durable?: boolean;
}

/**
 * Stores the messages of one cast in a directory. No input can make it write elsewhere: paths are checked, every
 * directory on a path is opened from its parent without following links, and files get their names by renaming when
 * their checksum matches.
 */
export class StreamWriter {
  readonly #outcomes = new Outcomes();
  readonly #root: number;
  readonly #temporary: TemporaryDirectory;
  readonly #tree: DirectoryTree;
  readonly #older: OlderFiles;
  readonly #files: FileAssembler;
  readonly #deferred: DeferredEntries;
  readonly #comparison: Comparison | undefined;
  readonly #order = new StreamOrder();
  #links = 0;
  /** Names without a directory in the streams, as latin1; the manifest has them where there is one. */
  readonly #roots = new Set<string>();
  #closed = false;
  #finished = false;
  #givenUp = false;

  private readonly active: () => void;
  private readonly isGivenUp: () => boolean;
  private readonly commits: Commits;

  /** @throws CastError ERR_RDMC_READ_ONLY, ERR_RDMC_PERMISSION, ERR_RDMC_NO_SPACE and others */
  constructor(
    directory: string,
    castId: string,
    checksum: Checksum,
    {
      active = () => {},
      isGivenUp = () => false,
      commits = commitAtOnce,
      policy,
      durable = false,
    }: WriterPorts = {},
  ) {
    this.active = active;
    this.isGivenUp = isGivenUp;
    this.commits = commits;
    this.#root = openDirectory(directory);
    try {
      this.#temporary = new TemporaryDirectory(this.#root, castId);
    } catch (error) {
      closeSync(this.#root);
      throw asCastError(error);
    }
    this.#tree = new DirectoryTree(this.#root);
    this.#older = new OlderFiles(this.#tree, checksum);
    this.#files = new FileAssembler(this.#tree, this.#temporary, this.#outcomes, checksum, {
      ...{ commits, active },
      older: this.#older,
    });
    this.#deferred = new DeferredEntries(this.#tree, this.#temporary, this.#outcomes, active);
    try {
      this.#comparison = policy && this.#compareBy(policy, checksum, durable);
    } catch (error) {
      this.close();
      throw asCastError(error);
    }
  }

  #compareBy(policy: ComparisonPolicy, checksum: Checksum, durable: boolean): Comparison {
    return new Comparison({
      ...{ policy, checksum, durable },
      tree: this.#tree,
      older: this.#older,
      outcomes: this.#outcomes,
      timeUnitNs: this.#temporary.timeUnitNs(),
      onDirectory: (directory) => this.#deferred.directory(directory),
      active: this.active,
      step: () => this.#step(),
    });
  }

  /** Bytes that can still be stored in the directory. */
  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(`/proc/self/fd/${this.#root}`);
    return bavail * bsize;
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

  /** After the last piece of the manifest: what the directory has beside its entries. */
  surplus(): SurplusReport {
    return this.#comparison?.surplus() ?? { count: 0, paths: [] };
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
      // Behind the end of a stream, too.
      if (record.type !== 'check') this.#order.record();
      this.#take(record);
      this.active();
      yield;
      this.#throwIfGivenUp();
    }
  }

  /**
   * Call after the last message: makes links, removes surplus entries, sets modes and times of directories, removes
   * temporary files.
   * @param messages of all streams
   * @param remove whether surplus entries are removed; they stay where an entry of the cast could not be stored
   */
  finish(messages: number, remove = false): StoredReport {
    for (const descriptor of this.lastSteps(messages, remove)) closeSync(descriptor);
    return this.report();
  }

  /**
   * As `finish`, without the report. All files must have their names. Yields descriptors of changed directories, when
   * they will not change again; the caller closes them. Iterate to the end.
   */
  *lastSteps(messages: number, remove = false): Generator<number, void, undefined> {
    this.#order.finish(messages, this.#comparison !== undefined);
    this.#reportUnbuilt();
    for (const isMade of this.#deferred.links()) {
      if (isMade) this.#links += 1;
      this.#throwIfGivenUp();
    }
    if (remove && this.#outcomes.problems.count === 0) {
      for (const _ of this.#comparison?.remove() ?? []) this.#throwIfGivenUp();
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
    return {
      ...this.stored,
      directories: this.#deferred.directories,
      links: this.#links,
      keptBytes: this.#files.keptBytes,
      unchangedFiles: this.#comparison?.unchanged.files ?? 0,
      unchangedBytes: this.#comparison?.unchanged.bytes ?? 0,
      removed: this.#comparison?.removed ?? 0,
      problems: kept,
      problemCount: count,
      names: [...(this.#comparison?.roots ?? this.#roots)].map(
        (name) => new Uint8Array(Buffer.from(name, 'latin1')),
      ),
    };
  }

  /** The cast ends early: sets the modes of directories that it made. Only `close` may follow. Idempotent. */
  giveUp(): void {
    if (this.#givenUp || this.#finished || this.#closed) return;
    this.#givenUp = true;
    this.#deferred.giveUp();
  }

  /** Removes temporary files, and closes all descriptors. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.giveUp();
    this.#closed = true;
    this.#tree.close();
    try {
      this.#files.discard();
      this.#temporary.remove();
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

  /** A CHECK is for receivers that pass bytes on; here the digest of each file decides. */
  #take(record: StreamRecord): void {
    if (record.type === 'data') this.#files.data(record);
    else if (record.type === 'hole') this.#files.hole(record);
    else if (record.type === 'keep') this.#files.keep(record);
    else if (record.type === 'fileEnd') this.#fileEnd(record);
    else if (record.type === 'fileBegin') this.#fileBegin(record);
    else if (record.type === 'directory') this.#directory(record);
    else if (record.type === 'symbolicLink') this.#symbolicLink(record);
    else if (record.type === 'hardLink') this.#hardLink(record);
    else if (record.type === 'streamEnd') this.#order.end(record, this.#files.openIndex);
  }

  #newEntry({ index, path }: { readonly index: number; readonly path: Buffer }, kind: EntryKinds): void {
    this.#order.entry(index, kind, this.#files.openIndex);
    if (!path.includes(0x2f)) this.#roots.add(path.toString('latin1'));
  }

  #directory(record: DirectoryRecord): void {
    this.#newEntry(record, 'directories');
    if (this.#comparison?.isWantedDirectory(record.index) === false) return;
    const directory = { ...record, path: Buffer.from(record.path) };
    this.commits.other(() => {
      this.#outcomes.attempt(directory.index, directory.path, () => {
        this.#tree.open(directory.path);
        this.#deferred.directory(directory);
      });
    });
  }

  #fileBegin(record: FileBeginRecord): void {
    this.#newEntry(record, 'files');
    this.#files.begin(record, this.#isWanted(record.index));
  }

  /** The FILE_END of a file that was given up may be repeated, or come without a beginning: see `layout.ts`. */
  #fileEnd(record: FileEndRecord): void {
    const { index, status } = record;
    if (this.#files.end(record)) return;
    if (status === FileStatus.WHOLE || this.#files.openIndex !== undefined) {
      throw protocolError(`entry ${index} ends, but is not open`);
    }
    if (this.#order.hasReached(index)) return;
    this.#order.entry(index, 'files', undefined);
    this.#outcomes.missing.add(index);
  }

  #symbolicLink(record: SymbolicLinkRecord): void {
    this.#newEntry(record, 'symbolicLinks');
    if (this.#isWanted(record.index)) this.#deferred.symbolicLink(record);
  }

  #hardLink(record: HardLinkRecord): void {
    this.#newEntry(record, 'hardLinks');
    if (this.#isWanted(record.index)) this.#deferred.hardLink(record);
  }

  /** Whether this receiver stores the entry; else it is in the stream for other receivers. */
  #isWanted(index: number): boolean {
    return this.#comparison?.isWanted(index) ?? true;
  }
}

function openDirectory(directory: string): number {
  try {
    return openSync(directory, OPEN_FLAGS);
  } catch (error) {
    throw asCastError(error);
  }
}
