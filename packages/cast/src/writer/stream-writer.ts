import { closeSync, constants, linkSync, openSync, renameSync, rmSync, statfsSync } from 'node:fs';
import type { CastProblem } from '../cast-summary.js';
import type { Checksum } from '../checksum.js';
import { CastError, givenUp, protocolError } from '../errors.js';
import { FileStatus } from '../stream/layout.js';
import { decodeMessage } from '../stream/message-decoder.js';
import { shown } from '../stream/paths.js';
import type {
  DirectoryRecord,
  FileBeginRecord,
  FileEndRecord,
  HardLinkRecord,
  StreamEndRecord,
  StreamRecord,
  SymbolicLinkRecord,
} from '../stream/records.js';
import { type Commits, commitAtOnce } from './commits.js';
import { within } from './descriptor-paths.js';
import { DirectoryTree } from './directory-tree.js';
import { FileDesk } from './file-desk.js';
import { LastThings } from './last-things.js';
import { Outcomes } from './outcomes.js';
import { asCastError } from './system-errors.js';
import { TemporaryDirectory } from './temporary-directory.js';

const OPEN_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY;

/** Files that have their names, and their bytes. */
export interface StoredSoFar {
  readonly files: number;
  readonly bytes: number;
}

/** What was stored. */
export interface StoredReport {
  readonly files: number;
  readonly directories: number;
  readonly links: number;
  readonly bytes: number;
  readonly problems: readonly CastProblem[];
  readonly problemCount: number;
}

/** What a writer needs of those who use it. */
export interface WriterPorts {
  /** Called whenever something has been done: a sign of life in long work. */
  readonly active?: () => void;
  /** Asked after every record: whether the cast was given up elsewhere. */
  readonly isGivenUp?: () => boolean;
  /** When files get their names (default: as soon as they are whole). */
  readonly commits?: Commits;
}

/**
 * Stores the messages of one cast in a directory. Nothing it is given can make it write elsewhere: paths are
 * checked, every directory on the way is opened from its parent without following links, and files get their names
 * by renaming when their hash fits.
 */
export class StreamWriter {
  readonly #outcomes = new Outcomes();
  readonly #root: number;
  readonly #temporary: TemporaryDirectory;
  readonly #tree: DirectoryTree;
  readonly #files: FileDesk;
  readonly #last: LastThings;
  readonly #seen = { files: 0, directories: 0, symbolicLinks: 0, hardLinks: 0 };
  #links = 0;
  #messages = 0;
  #lastIndex = -1;
  #closed = false;
  #finished = false;
  #givenUp = false;
  #ended: StreamEndRecord | undefined;

  private readonly active: () => void;
  private readonly isGivenUp: () => boolean;
  private readonly commits: Commits;

  /** @throws CastError ERR_RDMC_READ_ONLY, ERR_RDMC_PERMISSION, ERR_RDMC_NO_SPACE and others */
  constructor(
    directory: string,
    castId: string,
    checksum: Checksum,
    { active = () => {}, isGivenUp = () => false, commits = commitAtOnce }: WriterPorts = {},
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
    this.#files = new FileDesk(this.#tree, this.#temporary, this.#outcomes, checksum, { commits, active });
    this.#last = new LastThings(this.#tree, this.#temporary, this.#outcomes, active);
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

  /** Stores the next message. @throws CastError where nothing more can be stored */
  store(sequence: number, message: Buffer): void {
    for (const _ of this.steps(sequence, message));
  }

  /** As `store`, one record after the other. To be taken to its end. */
  *steps(sequence: number, message: Buffer): Generator<void, void, undefined> {
    if (sequence !== this.#messages) {
      throw protocolError(`message ${sequence} came in place of ${this.#messages}`);
    }
    for (const record of decodeMessage(message, sequence)) {
      if (this.#ended) throw protocolError('the stream goes on behind its end');
      this.#take(record);
      this.active();
      yield;
      this.#requireWanted();
    }
    this.#messages += 1;
  }

  /** Everything has come: makes symbolic links, gives directories their modes and times, removes what is temporary. */
  finish(messages: number): StoredReport {
    for (const descriptor of this.lastSteps(messages)) closeSync(descriptor);
    return this.report();
  }

  /**
   * As `finish`, without the report. All files must have their names. Yields descriptors of the directories in which
   * something has changed, when nothing more will: they are the taker's to close. To be taken to its end.
   */
  *lastSteps(messages: number): Generator<number, void, undefined> {
    if (messages !== this.#messages || !this.#isComplete) {
      throw protocolError('the stream ended without everything it should have brought');
    }
    for (const isMade of this.#last.links()) {
      if (isMade) this.#links += 1;
      this.#requireWanted();
    }
    for (const descriptor of this.#last.finishDirectories()) {
      yield descriptor;
      this.#requireWanted();
    }
    this.#finished = true;
  }

  /** What is temporary is removed. @throws of the system */
  report(): StoredReport {
    this.close();
    const { kept, count } = this.#outcomes.problems;
    return {
      ...this.stored,
      directories: this.#last.directories,
      links: this.#links,
      problems: kept,
      problemCount: count,
    };
  }

  /** The cast ends early: directories that it made get their modes now, and only `close` may follow. Idempotent. */
  giveUp(): void {
    if (this.#givenUp || this.#finished || this.#closed) return;
    this.#givenUp = true;
    this.#last.giveUp();
  }

  /** Removes what is temporary, and lets go of everything. Idempotent. */
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

  /** @throws CastError ERR_RDMC_ABORTED */
  #requireWanted(): void {
    if (this.#givenUp || this.isGivenUp()) throw givenUp();
  }

  get #isComplete(): boolean {
    const { files, directories, symbolicLinks, hardLinks } = this.#seen;
    return (
      this.#ended?.files === files &&
      this.#ended.directories === directories &&
      this.#ended.symbolicLinks === symbolicLinks &&
      this.#ended.hardLinks === hardLinks
    );
  }

  #take(record: StreamRecord): void {
    if (record.type === 'data') this.#files.data(record);
    else if (record.type === 'hole') this.#files.hole(record);
    else if (record.type === 'fileEnd') this.#fileEnd(record);
    else if (record.type === 'fileBegin') this.#fileBegin(record);
    else if (record.type === 'directory') this.#directory(record);
    else if (record.type === 'symbolicLink') this.#symbolicLink(record);
    else if (record.type === 'hardLink') this.#hardLink(record);
    else this.#end(record);
  }

  #newEntry(index: number): void {
    const { openIndex } = this.#files;
    if (openIndex !== undefined) throw protocolError(`entry ${index} begins within entry ${openIndex}`);
    if (index <= this.#lastIndex) throw protocolError(`entry ${index} comes after entry ${this.#lastIndex}`);
    this.#lastIndex = index;
  }

  #directory(record: DirectoryRecord): void {
    this.#newEntry(record.index);
    this.#seen.directories += 1;
    const directory = { ...record, path: Buffer.from(record.path) };
    this.commits.other(() => {
      this.#outcomes.attempt(directory.index, directory.path, () => {
        this.#tree.open(directory.path);
        this.#last.directory(directory);
      });
    });
  }

  #fileBegin(record: FileBeginRecord): void {
    this.#newEntry(record.index);
    this.#seen.files += 1;
    this.#files.begin(record);
  }

  /** One that says that a file was given up may come again, or without a beginning: see `layout.ts`. */
  #fileEnd(record: FileEndRecord): void {
    const { index, status } = record;
    if (this.#files.end(record)) return;
    if (status === FileStatus.WHOLE || this.#files.openIndex !== undefined) {
      throw protocolError(`entry ${index} ends, and is not under way`);
    }
    if (index <= this.#lastIndex) return;
    this.#lastIndex = index;
    this.#seen.files += 1;
    this.#outcomes.missing.add(index);
  }

  #symbolicLink(record: SymbolicLinkRecord): void {
    this.#newEntry(record.index);
    this.#seen.symbolicLinks += 1;
    this.#last.symbolicLink(record);
  }

  #hardLink({ index, targetIndex, path, targetPath }: HardLinkRecord): void {
    this.#newEntry(index);
    this.#seen.hardLinks += 1;
    // Views of a message, whose memory is used again.
    const names = { path: Buffer.from(path), targetPath: Buffer.from(targetPath) };
    this.commits.other(() => this.#makeHardLink({ index, targetIndex, ...names }));
  }

  #makeHardLink({ index, targetIndex, path, targetPath }: Omit<HardLinkRecord, 'type'>): void {
    this.#outcomes.attempt(index, path, () => {
      if (targetIndex >= index || this.#outcomes.missing.has(targetIndex)) {
        const message = `${shown(targetPath)}, which it is linked to, is not there`;
        throw new CastError('ERR_RDMC_LINK_TARGET_MISSING', message);
      }
      const temporary = this.#temporary.file(index);
      const target = this.#tree.place(targetPath);
      linkSync(within(target.directory, target.name), temporary);
      const { directory, name } = this.#tree.place(path);
      renameSync(temporary, within(directory, name));
      // Where both names were one file already, renaming has done nothing.
      rmSync(temporary, { force: true });
      this.#links += 1;
    });
  }

  #end(record: StreamEndRecord): void {
    const { openIndex } = this.#files;
    if (openIndex !== undefined) throw protocolError(`the stream ends within entry ${openIndex}`);
    this.#ended = record;
  }
}

function openDirectory(directory: string): number {
  try {
    return openSync(directory, OPEN_FLAGS);
  } catch (error) {
    throw asCastError(error);
  }
}
