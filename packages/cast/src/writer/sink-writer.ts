import type { Checksum } from '../checksum.js';
import { type ContentRecord, contentLength, contentOf } from '../compression/packed-data.js';
import { CHUNK_BYTES } from '../constants.js';
import { ContentDigest } from '../content-digest.js';
import { type CastErrorCode, givenUp, protocolError } from '../errors.js';
import { EntryState } from '../manifest/entry-states.js';
import { ManifestOrder } from '../manifest/manifest-order.js';
import { decodePiece } from '../manifest/piece-decoder.js';
import type { ComparisonPolicy } from '../manifest/policy.js';
import { ProblemList } from '../problems.js';
import { FileStatus, UNKNOWN_SIZE } from '../stream/layout.js';
import { checkedRecords } from '../stream/message-check.js';
import { shown } from '../stream/paths.js';
import type {
  FileBeginRecord,
  FileEndRecord,
  HoleRecord,
  KeepRecord,
  StreamRecord,
  SymbolicLinkRecord,
} from '../stream/records.js';
import type { SurplusReport } from './comparison.js';
import type { FileTaker } from './file-taker.js';
import type { HeadOrder } from './orders.js';
import type { StoredReport, StoredSoFar } from './stored-report.js';
import { type EntryKinds, StreamOrder } from './stream-order.js';

export interface SinkWriterPorts {
  /** Called whenever something has been done, so that slow sinks are seen to make progress. */
  readonly active: () => void;
  /** Whether another thread has given up the cast. */
  readonly isGivenUp: () => boolean;
  /** How entries are compared before they are sent; undefined where they are not. */
  readonly policy?: ComparisonPolicy | undefined;
}

interface OpenFile {
  readonly begin: FileBeginRecord;
  readonly digest: ContentDigest;
  offset: number;
  /** Ranges were not sent, so the digest cannot be compared. */
  isPartial: boolean;
}

/**
 * Passes the files of one cast to sinks or to memory, in the place of a directory. Bytes leave only in messages whose CHECK
 * has been verified. Neither has anything of a cast before, so every file is lacking.
 */
export class SinkWriter {
  readonly #order = new StreamOrder();
  readonly #manifestOrder = new ManifestOrder();
  readonly #problems = new ProblemList();
  readonly #roots = new Set<string>();
  #file: OpenFile | undefined;
  #examined = 0;
  #files = 0;
  /** By index: a directory may be in several streams. */
  readonly #directories = new Set<number>();
  /** Bytes that sinks have taken, and bytes of whole files. */
  #taken = 0;
  #bytes = 0;

  constructor(
    private readonly taker: FileTaker,
    private readonly checksum: Checksum,
    private readonly ports: SinkWriterPorts,
  ) {}

  /** Sinks do not tell how much they take. */
  get freeBytes(): number {
    return Number.MAX_SAFE_INTEGER;
  }

  /** What was said before the comparison still applies. */
  get roomBytes(): undefined {
    return undefined;
  }

  /** A sink has nothing of earlier casts. */
  get resumedBytes(): number {
    return 0;
  }

  get stored(): StoredSoFar {
    return { files: this.#files, bytes: this.#taken };
  }

  /** @throws CastError ERR_RDMC_CAST_PROTOCOL */
  examine(first: number, count: number, data: string): Uint8Array {
    const { policy } = this.ports;
    if (!policy) throw protocolError('the sender sent a manifest that it did not announce');
    if (first !== this.#examined)
      throw protocolError(`a piece of the manifest begins with entry ${first}, not ${this.#examined}`);
    const states = new Uint8Array(count).fill(policy.existing ? EntryState.SKIPPED : EntryState.ABSENT);
    let index = first;
    for (const entry of decodePiece(count, data, this.ports.policy?.archive)) {
      this.#manifestOrder.add(entry);
      const mayBePartly = policy.delta && !policy.existing;
      if (mayBePartly && this.taker.answers?.isPartly(index, entry))
        states[index - first] = EntryState.PARTLY;
      index += 1;
    }
    this.#examined += count;
    return states;
  }

  /** @throws CastError ERR_RDMC_CAST_PROTOCOL */
  head({ index, offset, data, last }: HeadOrder): string | undefined {
    const { answers } = this.taker;
    if (!answers) throw protocolError('a header came, which was not asked for');
    return answers.head(index, offset, data, last);
  }

  surplus(): SurplusReport {
    return { count: 0, paths: [] };
  }

  /** A sink has no older files. @throws CastError ERR_RDMC_CAST_PROTOCOL */
  compareBlocks(index: number): string {
    throw protocolError(`blocks of entry ${index} are to be compared with an older file; a sink has none`);
  }

  get unbuilt(): number[] {
    return [];
  }

  /** Checks a message, and passes its bytes on. @throws CastError of a sink; ERR_RDMC_HASH_MISMATCH and others */
  async store(sequence: number, message: Buffer): Promise<void> {
    const records = checkedRecords(message, sequence, this.checksum);
    this.#order.enter(sequence);
    for (const record of records) {
      this.#order.record();
      await this.#take(record);
      this.ports.active();
      if (this.ports.isGivenUp()) throw givenUp();
    }
  }

  /** @param messages of all streams */
  async finish(messages: number, _remove?: boolean): Promise<StoredReport> {
    this.#order.finish(messages, this.ports.policy !== undefined);
    this.#problems.addAll(await this.taker.finish());
    this.taker.close();
    return {
      ...{ files: this.#files, directories: this.#directories.size, links: 0, bytes: this.#bytes },
      ...{ keptBytes: 0, resumedBytes: 0, unchangedFiles: 0, unchangedBytes: 0, removed: 0 },
      problems: this.#problems.kept,
      problemCount: this.#problems.count,
      names: [...new Set([...this.#manifestOrder.roots, ...this.#roots])].map(bytesOf),
    };
  }

  giveUp(): void {
    this.taker.giveUp();
  }

  async close(): Promise<void> {
    this.taker.close();
  }

  async #take(record: StreamRecord): Promise<void> {
    switch (record.type) {
      case 'data':
      case 'packed':
        return this.#data(record);
      case 'hole':
        return this.#hole(record);
      case 'fileBegin':
        return this.#begin(record);
      case 'fileEnd':
        return this.#end(record);
      case 'directory':
        this.#entry(record.index, 'directories', record.path);
        this.#directories.add(record.index);
        return;
      case 'symbolicLink':
        return this.#link(record, 'symbolicLinks');
      case 'hardLink':
        return this.#link(record, 'hardLinks');
      case 'streamEnd':
        return this.#order.end(record, this.#file?.begin.index);
      case 'check':
        throw protocolError('a message has two checks');
      case 'keep':
        return this.#keep(record);
    }
  }

  #entry(index: number, kind: EntryKinds, path: Buffer): void {
    this.#order.entry(index, kind, this.#file?.begin.index);
    if (!path.includes(0x2f)) this.#roots.add(path.toString('latin1'));
  }

  #link({ index, path }: Pick<SymbolicLinkRecord, 'index' | 'path'>, kind: EntryKinds): void {
    this.#entry(index, kind, path);
    this.#problem(
      path,
      'ERR_RDMC_UNSUPPORTED_TYPE',
      'it is a link; the receiver takes only contents of files',
    );
  }

  async #begin(begin: FileBeginRecord): Promise<void> {
    const { index, mode, size, time } = begin;
    this.#entry(index, 'files', begin.path);
    // The path is a view of a message, whose memory is reused.
    const path = Buffer.from(begin.path);
    const digest = new ContentDigest(this.checksum, index);
    this.#file = { begin: { ...begin, path }, digest, offset: 0, isPartial: false };
    const known = size === UNKNOWN_SIZE ? undefined : size;
    if (!this.#isWanted) return;
    await this.taker.begin({ index, path: new Uint8Array(path), size: known, mode, time });
  }

  async #data(record: ContentRecord): Promise<void> {
    const file = this.#fileAt(record.index, record.offset, contentLength(record));
    const data = contentOf(record);
    file.digest.update(data);
    file.offset += data.length;
    for (let at = 0; at < data.length; at += CHUNK_BYTES) {
      const chunk = data.subarray(at, at + CHUNK_BYTES);
      if (this.#isWanted) await this.taker.data(chunk);
      this.#took(chunk.length);
    }
  }

  async #hole({ index, offset, length }: HoleRecord): Promise<void> {
    const file = this.#fileAt(index, offset, length);
    file.digest.hole(length);
    file.offset += length;
    for (let left = length; left > 0; left -= CHUNK_BYTES) {
      const step = Math.min(left, CHUNK_BYTES);
      if (this.#isWanted) await this.taker.hole(step);
      this.#took(step);
    }
  }

  /** A range that no receiver of the stream wants. */
  #keep({ index, offset, length }: KeepRecord): void {
    if (!this.taker.answers)
      throw protocolError(`entry ${index} is to be built from an older file; a sink has none`);
    const file = this.#fileAt(index, offset, length);
    file.isPartial = true;
    file.offset += length;
    if (this.#isWanted) this.taker.pass(length);
  }

  #took(length: number): void {
    this.#taken += length;
    this.ports.active();
    if (this.ports.isGivenUp()) throw givenUp();
  }

  /** The FILE_END of a file that was given up may be repeated, or come without a beginning: see `layout.ts`. */
  async #end({ index, status, digest }: FileEndRecord): Promise<void> {
    const file = this.#file;
    if (file?.begin.index !== index) {
      if (status === FileStatus.WHOLE || file) throw protocolError(`entry ${index} ends, but is not open`);
      if (!this.#order.hasReached(index)) this.#order.entry(index, 'files', undefined);
      return;
    }
    this.#file = undefined;
    const { begin, offset } = file;
    if (status !== FileStatus.WHOLE)
      return this.#discard(begin, 'ERR_RDMC_FILE_CHANGED', 'the sender could not send it whole');
    if (begin.size !== UNKNOWN_SIZE && offset !== begin.size)
      throw protocolError(`entry ${index} ends after ${offset} of ${begin.size} bytes`);
    if (!file.isPartial && !file.digest.digest().equals(digest))
      return this.#discard(begin, 'ERR_RDMC_HASH_MISMATCH', 'its checksum differs from that of the sender');
    if (!this.#isWanted) return;
    const ended = await this.taker.end();
    if (typeof ended === 'object') this.#problem(begin.path, ended.code, ended.message);
    if (typeof ended !== 'number') return;
    this.#files += 1;
    this.#bytes += ended;
  }

  async #discard({ path }: FileBeginRecord, code: CastErrorCode, what: string): Promise<void> {
    const message = `${what}; what the sink has of it is incomplete`;
    this.#problem(path, code, message);
    if (this.#isWanted) await this.taker.discard({ code, message: `${shown(path)}: ${message}` });
  }

  /** With `existing`, nothing is wanted: a sink has nothing that could be updated. */
  get #isWanted(): boolean {
    return this.ports.policy?.existing !== true;
  }

  #problem(path: Buffer, code: string, message: string): void {
    this.#problems.add({ path: shown(path), code, message });
  }

  /** The open file. @throws CastError where these are not its next bytes */
  #fileAt(index: number, offset: number, length: number): OpenFile {
    const file = this.#file;
    if (file?.begin.index !== index)
      throw protocolError(`received bytes of entry ${index}, which is not open`);
    if (length === 0 || offset !== file.offset || length > file.begin.size - offset)
      throw protocolError(`bytes ${offset} to ${offset + length} of entry ${index} are not the next ones`);
    return file;
  }
}

function bytesOf(name: string): Uint8Array {
  return new Uint8Array(Buffer.from(name, 'latin1'));
}
