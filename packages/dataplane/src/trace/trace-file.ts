import { type FileHandle, open } from 'node:fs/promises';
import { optionChecks, systemReason } from '@rdmc/common';
import { DataPlaneError } from '../errors.js';
import { encodeHeader, ownHeader } from './file-header.js';
import { NONE, RECORD_BYTES, TraceKind } from './layout.js';
import { nameRecords } from './names.js';
import { createTraceRing } from './recorder.js';
import { encodeRecords } from './records.js';
import { TraceRingReader } from './ring-reader.js';

/** How often the rings are read. A ring of the default size holds 0.4 s of 150,000 records per second. */
const DRAIN_EVERY_MS = 50;
const DEFAULT_RECORDS = 65_536;
const MIN_RECORDS = 1024;
const MAX_RECORDS = 1 << 24;
/** Bytes that wait for the disk. Further records count as dropped. */
const MOST_WAITING = 64 << 20;

const { integerOption, onlyKnownOptions } = optionChecks(
  (code, message) => new DataPlaneError(code, message),
);

/** The options of {@link TraceFile.create}. */
export interface TraceFileOptions {
  /**
   * Records that the ring of each thread holds, 32 bytes each: a power of two from 1024 to 2^24 (default 65536). When it
   * is full, the oldest are dropped, and counted.
   */
  readonly records?: number;
}

/** Where a thread records. `close` reads what is left in the ring. */
export interface TraceSource {
  /** The ring, for a `TraceRecorder` in any one thread. */
  readonly memory: SharedArrayBuffer;
  /** Takes the last records; idempotent. Nothing may be recorded afterwards. */
  close(): void;
}

/** A ring, and who records into it. */
interface Ring {
  readonly member: number;
  readonly reader: TraceRingReader;
}

/**
 * A file with the trace of one or several nodes of this process: give it to `Node.join` as `trace`. Each of their threads
 * records into a ring in shared memory; this object reads the rings in the thread that created it, every 50 ms, and
 * appends to the file. It does not keep the process alive. Close it after the nodes: without its end a file counts as cut short.
 */
export class TraceFile {
  readonly #rings = new Set<Ring>();
  readonly #timer: NodeJS.Timeout;
  #writing: Promise<void> = Promise.resolve();
  #failure: DataPlaneError | undefined;
  #closing: Promise<void> | undefined;
  #isEnded = false;
  #waiting = 0;
  #records = 0;
  #dropped = 0;

  private constructor(
    /** The path of the file. */
    readonly path: string,
    private readonly file: FileHandle,
    private readonly capacity: number,
  ) {
    this.#append(encodeHeader(ownHeader()));
    this.#timer = setInterval(() => this.#drain(), DRAIN_EVERY_MS);
    this.#timer.unref();
  }

  /**
   * Creates the file, or empties it.
   * @throws DataPlaneError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_TRACE_WRITE
   */
  static async create(path: string, options: TraceFileOptions = {}): Promise<TraceFile> {
    const where = 'TraceFile.create';
    onlyKnownOptions(where, options, ['records']);
    const { records = DEFAULT_RECORDS } = options;
    integerOption(where, 'records', records, MIN_RECORDS, MAX_RECORDS);
    if ((records & (records - 1)) !== 0) {
      throw new DataPlaneError(
        'ERR_RDMC_INVALID_OPTION',
        `${where}: records must be a power of two, not ${records}`,
      );
    }
    const file = await open(path, 'w').catch((cause: unknown) => {
      throw writeError(path, cause);
    });
    return new TraceFile(path, file, records);
  }

  /** Records written so far, and records that were lost because a ring was full. */
  get counts(): { readonly records: number; readonly dropped: number } {
    return { records: this.#records, dropped: this.#dropped };
  }

  /** What people call a member, such as its host. Readers of the trace show it. */
  nameMember(member: number, name: string): void {
    if (this.#isEnded) return;
    const records = nameRecords(member, name, Number(process.hrtime.bigint()));
    if (records.length > 0) this.#count(encodeRecords(records));
  }

  /** A new ring for one thread of a member. A closed file ignores its records. */
  source(member: number): TraceSource {
    const memory = createTraceRing(this.capacity);
    const ring = { member, reader: new TraceRingReader(memory) };
    this.#rings.add(ring);
    return {
      memory,
      close: () => {
        if (this.#rings.delete(ring)) this.#take(ring);
      },
    };
  }

  /**
   * Writes what is left, and the end of the file. Idempotent.
   * @throws DataPlaneError ERR_RDMC_TRACE_WRITE if any write failed; nothing was written after the first such failure
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer);
    this.#drain();
    this.#isEnded = true;
    const [low, high] = [this.#records >>> 0, Math.floor(this.#records / 2 ** 32)];
    this.#append(this.#ownRecord(TraceKind.END, NONE, low, high));
    await this.#writing;
    await this.file.close();
    if (this.#failure) throw this.#failure;
  }

  #drain(): void {
    for (const ring of this.#rings) this.#take(ring);
  }

  #take({ reader, member }: Ring): void {
    if (this.#isEnded) return;
    const { bytes, dropped: overwritten } = reader.take();
    const isLate = this.#waiting > MOST_WAITING;
    const dropped = overwritten + (isLate ? bytes.byteLength / RECORD_BYTES : 0);
    this.#dropped += dropped;
    if (dropped > 0) this.#count(this.#ownRecord(TraceKind.DROPPED, member, NONE, dropped));
    if (bytes.byteLength > 0 && !isLate) this.#count(bytes);
  }

  #count(bytes: Uint8Array): void {
    this.#records += bytes.byteLength / RECORD_BYTES;
    this.#append(bytes);
  }

  #ownRecord(kind: 1 | 2, member: number, message: number, block: number): Uint8Array {
    const time = Number(process.hrtime.bigint());
    return encodeRecords([{ time, member, kind, protocol: 0, group: 0, message, block, peer: NONE }]);
  }

  /** In order; nothing behind a failure, so that the file's valid part has no gap. */
  #append(bytes: Uint8Array): void {
    this.#waiting += bytes.byteLength;
    this.#writing = this.#writing.then(async () => {
      try {
        if (!this.#failure) await this.file.appendFile(bytes);
      } catch (cause) {
        this.#failure = writeError(this.path, cause);
      }
      this.#waiting -= bytes.byteLength;
    });
  }
}

function writeError(path: string, cause: unknown): DataPlaneError {
  const message = `cannot write the trace ${path}: ${systemReason(cause)}`;
  return new DataPlaneError('ERR_RDMC_TRACE_WRITE', message, { cause });
}
