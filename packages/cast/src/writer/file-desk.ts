import type { Checksum } from '../checksum.js';
import { protocolError } from '../errors.js';
import { FileStatus } from '../stream/layout.js';
import type { DataRecord, FileBeginRecord, FileEndRecord, HoleRecord } from '../stream/records.js';
import type { Commits } from './commits.js';
import type { DirectoryTree } from './directory-tree.js';
import { FileModes } from './file-modes.js';
import { FileSink } from './file-sink.js';
import type { Outcomes } from './outcomes.js';
import type { TemporaryDirectory } from './temporary-directory.js';

interface OpenFile {
  readonly begin: FileBeginRecord;
  /** Undefined where it failed: what still comes of it is checked and forgotten. */
  sink: FileSink | undefined;
  offset: number;
}

/** Takes the records of files, of which one is under way at a time, and checks that they follow each other. */
export class FileDesk {
  /** Files that have their names, and their bytes. */
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

  /** Index of the file under way. */
  get openIndex(): number | undefined {
    return this.#file?.begin.index;
  }

  begin(record: FileBeginRecord): void {
    // The path is a view of a message, whose memory is used again.
    const begin = { ...record, path: Buffer.from(record.path) };
    const file: OpenFile = { begin, sink: undefined, offset: 0 };
    this.#file = file;
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

  /** The end of the file under way. False where another one was meant. */
  end({ index, status, digest }: FileEndRecord): boolean {
    const file = this.#file;
    if (file?.begin.index !== index) return false;
    if (status !== FileStatus.WHOLE) {
      // The sender has given it up, and names the problem itself.
      this.outcomes.missing.add(index);
      this.discard();
      return true;
    }
    const { begin } = file;
    if (file.offset !== begin.size) throw protocolError(`entry ${index} ends before all of it has come`);
    this.#attempt(file, (sink) => sink.seal(digest));
    if (file.sink) this.#give(file, file.sink);
    this.#file = undefined;
    return true;
  }

  #give(file: OpenFile, sink: FileSink): void {
    const { path, size } = file.begin;
    this.ports.commits.file({
      sink,
      commit: () =>
        this.#attempt(file, () => {
          sink.commit(this.tree.place(path));
          this.files += 1;
          this.bytes += size;
        }),
      fail: (error) =>
        this.#attempt(file, () => {
          throw error;
        }),
    });
  }

  /** Nothing is kept of the file under way. */
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

  /** The file under way, if these bytes are its next ones. */
  #fileAt(index: number, offset: number, length: number): OpenFile {
    const file = this.#file;
    if (file?.begin.index !== index)
      throw protocolError(`bytes come for entry ${index}, which has not begun`);
    if (length === 0 || offset !== file.offset || length > file.begin.size - offset) {
      throw protocolError(`bytes ${offset} to ${offset + length} of entry ${index} are not the next ones`);
    }
    return file;
  }
}
