import type { Checksum } from '../checksum.js';
import { protocolError } from '../errors.js';
import { FileStatus, UNKNOWN_SIZE } from '../stream/layout.js';
import type { DataRecord, FileBeginRecord, FileEndRecord, HoleRecord } from '../stream/records.js';
import type { Commits } from './commits.js';
import type { DirectoryTree } from './directory-tree.js';
import { FileModes } from './file-modes.js';
import { FileSink } from './file-sink.js';
import type { Outcomes } from './outcomes.js';
import type { TemporaryDirectory } from './temporary-directory.js';

interface OpenFile {
  readonly begin: FileBeginRecord;
  /** Undefined where it failed, or where it is for other receivers: its remaining records are checked and discarded. */
  sink: FileSink | undefined;
  offset: number;
}

/** Assembles files from their records, one file at a time, and checks the order of the records. */
export class FileAssembler {
  /** Number and bytes of files that have their names. */
  files = 0;
  bytes = 0;
  #file: OpenFile | undefined;
  readonly #modes = new FileModes();

  constructor(
    private readonly tree: DirectoryTree,
    private readonly temporary: TemporaryDirectory,
    private readonly outcomes: Outcomes,
    private readonly checksum: Checksum,
    private readonly ports: { readonly commits: Commits; readonly active: () => void },
  ) {}

  /** Index of the open file. */
  get openIndex(): number | undefined {
    return this.#file?.begin.index;
  }

  /** @param isWanted whether it is stored; else its records are checked, and discarded */
  begin(record: FileBeginRecord, isWanted = true): void {
    // The path is a view of a message, whose memory is reused.
    const begin = { ...record, path: Buffer.from(record.path) };
    const file: OpenFile = { begin, sink: undefined, offset: 0 };
    this.#file = file;
    if (!isWanted) return;
    this.outcomes.attempt(begin.index, begin.path, () => {
      const path = this.temporary.file(begin.index);
      file.sink = new FileSink(begin, path, this.checksum, this.#modes, this.ports.active);
    });
  }

  data({ index, offset, data }: DataRecord): void {
    const file = this.#fileAt(index, offset, data.length);
    this.#attempt(file, (sink) => sink.write(data));
    file.offset += data.length;
    if (file.sink) this.ports.commits.written(file.sink);
  }

  hole({ index, offset, length }: HoleRecord): void {
    const file = this.#fileAt(index, offset, length);
    file.sink?.skip(length);
    file.offset += length;
  }

  /** Ends the open file. False where the record is of another file. */
  end({ index, status, digest }: FileEndRecord): boolean {
    const file = this.#file;
    if (file?.begin.index !== index) return false;
    if (status !== FileStatus.WHOLE) {
      // The sender has given it up, and reports the problem itself.
      this.outcomes.missing.add(index);
      this.discard();
      return true;
    }
    const { begin } = file;
    if (begin.size !== UNKNOWN_SIZE && file.offset !== begin.size)
      throw protocolError(`entry ${index} ends after ${file.offset} of ${begin.size} bytes`);
    this.#attempt(file, (sink) => sink.seal(digest));
    if (file.sink) this.#give(file, file.sink);
    this.#file = undefined;
    return true;
  }

  #give(file: OpenFile, sink: FileSink): void {
    const { path } = file.begin;
    this.ports.commits.file({
      sink,
      commit: () =>
        this.#attempt(file, () => {
          sink.commit(this.tree.place(path));
          this.files += 1;
          this.bytes += file.offset;
        }),
      fail: (error) =>
        this.#attempt(file, () => {
          throw error;
        }),
    });
  }

  /** Discards the open file. */
  discard(): void {
    const sink = this.#file?.sink;
    this.#file = undefined;
    sink?.discard();
  }

  #attempt(file: OpenFile, action: (sink: FileSink) => void): void {
    const { begin, sink } = file;
    if (!sink || this.outcomes.attempt(begin.index, begin.path, () => action(sink))) return;
    file.sink = undefined;
    sink.discard();
  }

  /** The open file. @throws CastError where these are not its next bytes */
  #fileAt(index: number, offset: number, length: number): OpenFile {
    const file = this.#file;
    if (file?.begin.index !== index)
      throw protocolError(`received bytes of entry ${index}, which is not open`);
    if (length === 0 || offset !== file.offset || length > file.begin.size - offset) {
      throw protocolError(`bytes ${offset} to ${offset + length} of entry ${index} are not the next ones`);
    }
    return file;
  }
}
