import { closeSync, constants, linkSync, openSync, renameSync, statfsSync, unlinkSync } from 'node:fs';
import type { CastProblem } from '../cast-summary.js';
import { CastError, codeOf, messageOf, protocolError } from '../errors.js';
import { ProblemList } from '../problems.js';
import { FileStatus } from '../stream/layout.js';
import { decodeMessage } from '../stream/message-decoder.js';
import { shown } from '../stream/paths.js';
import type {
  DataRecord,
  DirectoryRecord,
  FileBeginRecord,
  FileEndRecord,
  HardLinkRecord,
  HoleRecord,
  StreamEndRecord,
  StreamRecord,
  StreamTotals,
  SymbolicLinkRecord,
} from '../stream/records.js';
import { within } from './descriptor-paths.js';
import { DirectoryTree } from './directory-tree.js';
import { FileSink } from './file-sink.js';
import { LastThings } from './last-things.js';
import { asCastError, isFatal } from './system-errors.js';
import { TemporaryDirectory } from './temporary-directory.js';

const OPEN_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY;

/** What was stored. */
export interface StoredReport {
  readonly files: number;
  readonly directories: number;
  readonly links: number;
  readonly bytes: number;
  readonly problems: readonly CastProblem[];
  readonly problemCount: number;
}

/**
 * Stores the messages of one cast in a directory. Nothing it is given can make it write elsewhere: paths are
 * checked, every directory on the way is opened from its parent without following links, and files get their names
 * by renaming when their hash fits.
 */
export class StreamWriter {
  readonly problems = new ProblemList();
  readonly #root: number;
  readonly #temporary: TemporaryDirectory;
  readonly #tree: DirectoryTree;
  readonly #last: LastThings;
  /** Files of this cast that are not there under their names; what is linked to them is a problem, too. */
  readonly #missing = new Set<number>();
  readonly #seen = { files: 0, directories: 0, symbolicLinks: 0, hardLinks: 0 };
  #files = 0;
  #links = 0;
  #bytes = 0;
  #messages = 0;
  #lastIndex = -1;
  #closed = false;
  #ended: StreamEndRecord | undefined;
  /** The file under way; without a sink it is not stored, as it failed or was given up. */
  #file: { readonly begin: FileBeginRecord; sink: FileSink | undefined; offset: number } | undefined;

  /** @throws CastError ERR_RDMC_READ_ONLY, ERR_RDMC_PERMISSION, ERR_RDMC_NO_SPACE and others */
  constructor(
    directory: string,
    castId: string,
    /** Called whenever something has been done: a sign of life in long work. */
    private readonly active: () => void = () => {},
  ) {
    this.#root = openSync(directory, OPEN_FLAGS);
    try {
      this.#temporary = new TemporaryDirectory(this.#root, castId);
    } catch (error) {
      closeSync(this.#root);
      throw asCastError(error);
    }
    this.#tree = new DirectoryTree(this.#root);
    this.#last = new LastThings(this.#tree, this.#temporary, active);
  }

  /** Bytes that can still be stored in the directory. */
  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(`/proc/self/fd/${this.#root}`);
    return bavail * bsize;
  }

  /** Files that are whole, and their bytes. */
  get stored(): { readonly files: number; readonly bytes: number } {
    return { files: this.#files, bytes: this.#bytes };
  }

  /** Stores the next message. @throws CastError where nothing more can be stored */
  store(sequence: number, message: Buffer): void {
    if (sequence !== this.#messages)
      throw protocolError(`message ${sequence} came in place of ${this.#messages}`);
    for (const record of decodeMessage(message, sequence)) {
      if (this.#ended) throw protocolError('the stream goes on behind its end');
      this.#take(record);
      this.active();
    }
    this.#messages += 1;
  }

  /** Everything has come: makes symbolic links, gives directories their modes and times, removes what is temporary. */
  finish(messages: number): StoredReport {
    const { files, directories, symbolicLinks, hardLinks } = this.#ended ?? noTotals;
    const whole =
      this.#ended !== undefined &&
      this.#file === undefined &&
      messages === this.#messages &&
      files === this.#seen.files &&
      directories === this.#seen.directories &&
      symbolicLinks === this.#seen.symbolicLinks &&
      hardLinks === this.#seen.hardLinks;
    if (!whole) throw protocolError('the stream ended without everything it should have brought');
    this.#links += this.#last.run((path, error) => this.#problem(path, error));
    this.close();
    return {
      files: this.#files,
      directories: this.#last.directories,
      links: this.#links,
      bytes: this.#bytes,
      problems: this.problems.kept,
      problemCount: this.problems.count,
    };
  }

  /** Removes what is temporary, and lets go of everything. Idempotent. */
  close(): void {
    try {
      this.#file?.sink?.discard();
    } catch {
      // The temporary directory is removed with all that is in it.
    }
    this.#file = undefined;
    if (this.#closed) return;
    this.#closed = true;
    this.#tree.close();
    try {
      this.#temporary.remove();
    } finally {
      closeSync(this.#root);
    }
  }

  #take(record: StreamRecord): void {
    if (record.type === 'data') this.#data(record);
    else if (record.type === 'hole') this.#hole(record);
    else if (record.type === 'fileBegin') this.#fileBegin(record);
    else if (record.type === 'fileEnd') this.#fileEnd(record);
    else if (record.type === 'directory') this.#directory(record);
    else if (record.type === 'symbolicLink') this.#symbolicLink(record);
    else if (record.type === 'hardLink') this.#hardLink(record);
    else {
      if (this.#file) throw protocolError('the stream ends in the middle of a file');
      this.#ended = record;
    }
  }

  #newEntry(index: number): void {
    if (this.#file)
      throw protocolError(`entry ${index} begins before entry ${this.#file.begin.index} has ended`);
    if (index <= this.#lastIndex) throw protocolError(`entry ${index} comes after entry ${this.#lastIndex}`);
    this.#lastIndex = index;
  }

  #directory(record: DirectoryRecord): void {
    this.#newEntry(record.index);
    this.#seen.directories += 1;
    this.#attempt(record.path, () => {
      this.#tree.open(record.path);
      this.#last.directory(record);
    });
  }

  #fileBegin(record: FileBeginRecord): void {
    this.#newEntry(record.index);
    this.#seen.files += 1;
    const begin = { ...record, path: Buffer.from(record.path) };
    this.#file = { begin, sink: undefined, offset: 0 };
    this.#attempt(begin.path, () => {
      const temporary = this.#temporary.file(begin.index);
      this.#file!.sink = new FileSink(begin, temporary, this.active);
    });
  }

  #data({ index, offset, data }: DataRecord): void {
    const file = this.#fileAt(index, offset, data.length);
    const { sink } = file;
    if (sink) this.#attempt(file.begin.path, () => sink.write(data));
    file.offset += data.length;
  }

  #hole({ index, offset, length }: HoleRecord): void {
    const file = this.#fileAt(index, offset, length);
    file.sink?.skip(length);
    file.offset += length;
  }

  /** The file under way, if these bytes are its next ones. */
  #fileAt(index: number, offset: number, length: number) {
    const file = this.#file;
    if (file?.begin.index !== index)
      throw protocolError(`bytes come for entry ${index}, which has not begun`);
    if (length === 0 || offset !== file.offset || length > file.begin.size - offset) {
      throw protocolError(`bytes ${offset} to ${offset + length} of entry ${index} are not the next ones`);
    }
    return file;
  }

  #fileEnd({ index, status, digest }: FileEndRecord): void {
    const file = this.#file;
    if (status !== FileStatus.WHOLE) {
      this.#abandon(index);
      return;
    }
    if (file?.begin.index !== index || file.offset !== file.begin.size) {
      throw protocolError(`entry ${index} ends before all of it has come`);
    }
    const { begin, sink } = file;
    if (sink) {
      this.#attempt(begin.path, () => {
        sink.commit(digest, () => this.#tree.place(begin.path));
        this.#files += 1;
        this.#bytes += begin.size;
      });
    }
    this.#file = undefined;
  }

  /** The sender gave the file up. It names the problem itself. This may come again, or without a beginning. */
  #abandon(index: number): void {
    const file = this.#file;
    if (file === undefined || file.begin.index !== index) {
      if (file !== undefined) throw protocolError(`entry ${index} ends within entry ${file.begin.index}`);
      if (index > this.#lastIndex) {
        this.#lastIndex = index;
        this.#seen.files += 1;
        this.#missing.add(index);
      }
      return;
    }
    this.#missing.add(index);
    file.sink?.discard();
    this.#file = undefined;
  }

  #symbolicLink(record: SymbolicLinkRecord): void {
    this.#newEntry(record.index);
    this.#seen.symbolicLinks += 1;
    this.#last.symbolicLink(record);
  }

  #hardLink({ index, targetIndex, path, targetPath }: HardLinkRecord): void {
    this.#newEntry(index);
    this.#seen.hardLinks += 1;
    this.#attempt(path, () => {
      if (targetIndex >= index || this.#missing.has(targetIndex)) {
        throw new CastError(
          'ERR_RDMC_LINK_TARGET_MISSING',
          `${shown(targetPath)}, which it is linked to, is not there`,
        );
      }
      const temporary = this.#temporary.file(index);
      const target = this.#tree.place(targetPath);
      linkSync(within(target.directory, target.name), temporary);
      const { directory, name } = this.#tree.place(path);
      renameSync(temporary, within(directory, name));
      // Where both names were one file already, renaming has done nothing.
      removeIfThere(temporary);
      this.#links += 1;
    });
  }

  /** Does something for one entry. What fails is that entry's problem, unless nothing more can be stored at all. */
  #attempt(path: Buffer, action: () => void): void {
    try {
      action();
    } catch (error) {
      if (isFatal(error)) throw asCastError(error);
      this.#problem(path, error);
    }
  }

  #problem(path: Buffer, error: unknown): void {
    if (this.#file) {
      this.#missing.add(this.#file.begin.index);
      const { sink } = this.#file;
      this.#file.sink = undefined;
      sink?.discard();
    }
    const { code, message } = asCastError(error);
    this.problems.add({ path: shown(path), code, message });
  }
}

const noTotals: StreamTotals = { files: -1, directories: -1, symbolicLinks: -1, hardLinks: -1, bytes: -1 };

function removeIfThere(path: Buffer): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT')
      throw new CastError('ERR_RDMC_WRITE_FAILED', messageOf(error), { cause: error });
  }
}
