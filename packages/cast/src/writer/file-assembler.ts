import type { Checksum } from '../checksum.js';
import { type ContentRecord, contentLength, contentOf } from '../compression/packed-data.js';
import { CHUNK_BYTES, DELTA_FILE_BYTES, HOLE_BYTES, MAX_KEEP_BYTES } from '../constants.js';
import { codeOf, protocolError } from '../errors.js';
import type { OpenSources } from '../resume/open-sources.js';
import type { SinkTargets } from '../resume/sink-target.js';
import { FileStatus, UNKNOWN_SIZE } from '../stream/layout.js';
import type { FileBeginRecord, FileEndRecord, HoleRecord, KeepRecord } from '../stream/records.js';
import type { Commits } from './commits.js';
import type { ReceivingTree } from './directory-tree.js';
import type { FileModes } from './file-modes.js';
import { FileSink } from './file-sink.js';
import type { OlderFiles } from './older-files.js';
import type { Outcomes } from './outcomes.js';

interface OpenFile {
  readonly begin: FileBeginRecord;
  /** Undefined where it failed, or where it is for other receivers: its remaining records are checked and discarded. */
  sink: FileSink | undefined;
  offset: number;
  /** What some of its bytes come from. */
  older: OpenSources | undefined;
  keptBytes: number;
}

interface AssemblerPorts {
  readonly commits: Commits;
  readonly active: () => void;
  readonly older: OlderFiles;
  readonly targets: SinkTargets;
  readonly modes: FileModes;
}

const ZEROS = Buffer.alloc(HOLE_BYTES);

/** Assembles files from their records, one file at a time, and checks the order of the records. */
export class FileAssembler {
  /** Number and bytes of files that have their names. */
  files = 0;
  bytes = 0;
  /** Of these bytes, those that came from older files. */
  keptBytes = 0;
  /** Paths of files that could not be built from their older ones, by index: the sender sends these whole. */
  readonly unbuilt = new Map<number, Buffer>();
  #chunk: Buffer | undefined;
  #file: OpenFile | undefined;
  /** Large files that are complete: several streams may have them, of which others can have ranges of older files. */
  readonly #complete = new Set<number>();

  constructor(
    private readonly tree: ReceivingTree,
    private readonly outcomes: Outcomes,
    private readonly checksum: Checksum,
    private readonly ports: AssemblerPorts,
  ) {}

  /** Index of the open file. */
  get openIndex(): number | undefined {
    return this.#file?.begin.index;
  }

  /** @param isWanted whether it is stored; else its records are checked, and discarded */
  begin(record: FileBeginRecord, isWanted = true): void {
    // The path is a view of a message, whose memory is reused.
    const begin = { ...record, path: Buffer.from(record.path) };
    const file: OpenFile = { begin, sink: undefined, offset: 0, older: undefined, keptBytes: 0 };
    this.#file = file;
    if (!isWanted || this.#complete.has(begin.index)) return;
    this.outcomes.attempt(begin.index, begin.path, () => {
      const { older, targets, modes, active } = this.ports;
      const target = targets.open(begin, older.part(begin));
      file.sink = new FileSink(begin, target, this.checksum, modes, active);
    });
  }

  /** A file whose bytes cannot be decompressed is a problem of its own, as one with a wrong digest. */
  data(record: ContentRecord): void {
    const length = contentLength(record);
    const file = this.#fileAt(record.index, record.offset, length);
    this.#attempt(file, (sink) => sink.write(contentOf(record)));
    file.offset += length;
    if (file.sink) this.ports.commits.written(file.sink);
  }

  hole({ index, offset, length }: HoleRecord): void {
    const file = this.#fileAt(index, offset, length);
    this.#attempt(file, (sink) => sink.skip(length));
    file.offset += length;
  }

  /** Takes bytes from the older file, at most `MAX_KEEP_BYTES`. */
  keep({ index, offset, length }: KeepRecord): void {
    const file = this.#fileAt(index, offset, length);
    if (length > MAX_KEEP_BYTES)
      throw protocolError(`${length} bytes of entry ${index} are kept in one record`);
    file.older ??= file.sink && this.ports.older.open(index);
    if (!this.#copy(file, offset, length)) this.#passOver(file);
    file.offset += length;
    file.keptBytes += length;
    if (file.sink) this.ports.commits.written(file.sink);
  }

  /** Takes bytes of the older file, or of the partial one. Returns false where they are not there any more. */
  #copy(file: OpenFile, offset: number, length: number): boolean {
    const { older } = file;
    this.#chunk ??= Buffer.allocUnsafeSlow(CHUNK_BYTES);
    const isSparse = older?.isSparse ?? false;
    const pieceBytes = Math.min(isSparse ? HOLE_BYTES : CHUNK_BYTES, older?.pieceBytes ?? CHUNK_BYTES);
    for (let done = 0; done < length && file.sink; done += pieceBytes) {
      const piece = this.#chunk.subarray(0, Math.min(pieceBytes, length - done));
      if (!older || older.read(piece, offset + done) < piece.length) return false;
      const isHole = isSparse && Buffer.compare(piece, ZEROS.subarray(0, piece.length)) === 0;
      const how = older.isInPlace(offset + done, piece.length) ? 'in place' : isHole ? 'hole' : 'copy';
      this.#attempt(file, (sink) => sink.keep(piece, how));
    }
    return true;
  }

  /** The file cannot be built from the older one: it comes again, in another stream. */
  #passOver(file: OpenFile): void {
    const { begin, sink } = file;
    file.sink = undefined;
    if (sink) this.#drop(sink);
    this.unbuilt.set(begin.index, begin.path);
  }

  /** Ends the open file. False where the record is of another file. */
  end({ index, status, digest }: FileEndRecord): boolean {
    const file = this.#file;
    if (file?.begin.index !== index) return false;
    if (status !== FileStatus.WHOLE) {
      // The sender has given it up, and reports the problem itself.
      if (!this.#complete.has(index)) this.outcomes.missing.add(index);
      this.unbuilt.delete(index);
      this.discard();
      return true;
    }
    const { begin } = file;
    if (begin.size !== UNKNOWN_SIZE && file.offset !== begin.size)
      throw protocolError(`entry ${index} ends after ${file.offset} of ${begin.size} bytes`);
    this.#seal(file, digest);
    if (file.sink) this.#give(file, file.sink);
    file.older?.close();
    this.#file = undefined;
    return true;
  }

  /** A file that was built from an older one which has changed meanwhile is sent again; else a mismatch is a problem. */
  #seal(file: OpenFile, digest: Buffer): void {
    try {
      file.sink?.seal(digest);
    } catch (error) {
      if (file.older && codeOf(error) === 'ERR_RDMC_HASH_MISMATCH') this.#passOver(file);
      else
        this.#attempt(file, () => {
          throw error;
        });
    }
  }

  #give(file: OpenFile, sink: FileSink): void {
    const { index, path, size } = file.begin;
    this.unbuilt.delete(index);
    if (size >= DELTA_FILE_BYTES) this.#complete.add(index);
    this.ports.commits.file({
      sink,
      commit: () =>
        this.#attempt(file, () => {
          sink.commit(this.tree.place(path));
          this.files += 1;
          this.bytes += file.offset;
          this.keptBytes += file.keptBytes;
        }),
      fail: (error) =>
        this.#attempt(file, () => {
          throw error;
        }),
    });
  }

  /** The cast ends early: what there is of the open file gets to the disk. @throws errors of the system */
  async settle(sync: (descriptor: number) => Promise<void>): Promise<void> {
    await this.#file?.sink?.settle(sync);
  }

  /** Closes the open file; its temporary file stays. @param isSettled whether `settle` was called, or is needed */
  leave(isSettled: boolean): void {
    const { sink, older } = this.#file ?? {};
    this.#file = undefined;
    older?.close();
    if (!isSettled) sink?.noteEnd();
    sink?.release();
  }

  /** Discards the open file. */
  discard(): void {
    const { sink, older } = this.#file ?? {};
    this.#file = undefined;
    older?.close();
    sink?.discard();
  }

  #attempt(file: OpenFile, action: (sink: FileSink) => void): void {
    const { begin, sink } = file;
    if (!sink || this.outcomes.attempt(begin.index, begin.path, () => action(sink))) return;
    this.unbuilt.delete(begin.index);
    file.sink = undefined;
    this.#drop(sink);
  }

  /** A partial file that it continued is gone with it. */
  #drop(sink: FileSink): void {
    sink.discard();
    this.ports.older.dropPart(sink.begin.index);
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
