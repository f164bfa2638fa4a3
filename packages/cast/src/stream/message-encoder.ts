import { crc32 } from 'node:zlib';
import type { Codec } from '../compression/codec.js';
import { CAST_PROTOCOL_VERSION } from '../constants.js';
import * as layout from './layout.js';
import type {
  DirectoryRecord,
  FileBeginRecord,
  FileEndRecord,
  HardLinkRecord,
  HoleRecord,
  KeepRecord,
  StreamTotals,
  SymbolicLinkRecord,
  Timestamp,
} from './records.js';
import { writeSigned64, writeUnsigned64 } from './words.js';

type Fields<T> = Omit<T, 'type'>;
const { RecordType, FixedBytes } = layout;

/** Bytes of a DATA record beside the data. */
export const DATA_OVERHEAD_BYTES = layout.RECORD_HEADER_BYTES + FixedBytes.DATA;
export const HOLE_RECORD_BYTES = layout.RECORD_HEADER_BYTES + FixedBytes.HOLE;
export const KEEP_RECORD_BYTES = layout.RECORD_HEADER_BYTES + FixedBytes.KEEP;

/** Bytes of a piece of a file, before and after compression. */
interface PackedPiece {
  readonly length: number;
  readonly packedBytes: number;
}

/**
 * Writes records into the memory of one message. Methods that write a record return false, and change nothing, where
 * there is no room for it. The layout is drawn in `layout.ts`.
 */
export class MessageEncoder {
  #at = layout.MESSAGE_HEADER_BYTES;
  #records = 0;

  constructor(
    private readonly target: Buffer,
    /** Bytes that may be used, at most those of `target`. */
    private readonly capacity = target.length,
  ) {}

  get spaceLeft(): number {
    return this.capacity - this.#at;
  }

  get records(): number {
    return this.#records;
  }

  /** Bytes of the message so far. */
  get length(): number {
    return this.#at;
  }

  directory({ index, mode, time, path }: Fields<DirectoryRecord>): boolean {
    return this.#record(RecordType.DIRECTORY, FixedBytes.DIRECTORY + path.length, (at) => {
      this.#words(at, index, mode);
      this.#time(at + 8, time);
      path.copy(this.target, at + FixedBytes.DIRECTORY);
    });
  }

  fileBegin({ index, mode, time, size, path }: Fields<FileBeginRecord>): boolean {
    return this.#record(RecordType.FILE_BEGIN, FixedBytes.FILE_BEGIN + path.length, (at) => {
      this.#words(at, index, mode);
      this.#time(at + 8, time);
      writeUnsigned64(this.target, at + 8 + layout.TIME_BYTES, size);
      path.copy(this.target, at + FixedBytes.FILE_BEGIN);
    });
  }

  hole(fields: Fields<HoleRecord>): boolean {
    return this.#range(RecordType.HOLE, fields);
  }

  keep(fields: Fields<KeepRecord>): boolean {
    return this.#range(RecordType.KEEP, fields);
  }

  fileEnd({ index, status, digest }: Fields<FileEndRecord>): boolean {
    return this.#record(RecordType.FILE_END, FixedBytes.FILE_END, (at) => {
      this.#words(at, index, status);
      this.target.set(digest, at + 8);
    });
  }

  symbolicLink({ index, time, path, target }: Fields<SymbolicLinkRecord>): boolean {
    const fieldBytes = FixedBytes.SYMBOLIC_LINK + path.length + target.length;
    return this.#record(RecordType.SYMBOLIC_LINK, fieldBytes, (at) => {
      this.#words(at, index, path.length);
      this.#time(at + 8, time);
      path.copy(this.target, at + FixedBytes.SYMBOLIC_LINK);
      target.copy(this.target, at + FixedBytes.SYMBOLIC_LINK + path.length);
    });
  }

  hardLink({ index, targetIndex, path, targetPath }: Fields<HardLinkRecord>): boolean {
    const fieldBytes = FixedBytes.HARD_LINK + path.length + targetPath.length;
    return this.#record(RecordType.HARD_LINK, fieldBytes, (at) => {
      this.#words(at, index, targetIndex);
      this.#words(at + 8, path.length, 0);
      path.copy(this.target, at + FixedBytes.HARD_LINK);
      targetPath.copy(this.target, at + FixedBytes.HARD_LINK + path.length);
    });
  }

  streamEnd({ files, directories, symbolicLinks, hardLinks, bytes }: StreamTotals): boolean {
    return this.#record(RecordType.STREAM_END, FixedBytes.STREAM_END, (at) => {
      this.#words(at, files, directories);
      this.#words(at + 8, symbolicLinks, hardLinks);
      writeUnsigned64(this.target, at + 16, bytes);
    });
  }

  /** The last record. `CHECK_RECORD_BYTES` behind the capacity are kept free for it. */
  check(number: number, digest: Buffer): void {
    const at = this.#at + layout.RECORD_HEADER_BYTES;
    this.#words(at, number, 0);
    this.target.set(digest, at + 8);
    this.#close(RecordType.CHECK, FixedBytes.CHECK, 0);
  }

  /** Offset of the data of the next record, so that it can be read into its place before `data` is called. */
  dataPlace(recordsBeforeBytes = 0): number {
    return this.#at + recordsBeforeBytes + DATA_OVERHEAD_BYTES;
  }

  /** Writes the record of data that is at `dataPlace()` already. */
  data(index: number, offset: number, length: number): void {
    const fieldsAt = this.#at + layout.RECORD_HEADER_BYTES;
    this.#words(fieldsAt, index, 0);
    writeUnsigned64(this.target, fieldsAt + 8, offset);
    this.#close(RecordType.DATA, FixedBytes.DATA, length);
  }

  /** As `data`, with a compressed piece of `length` bytes of the file. */
  packed(codec: Codec, index: number, offset: number, { length, packedBytes }: PackedPiece): void {
    const fieldsAt = this.#at + layout.RECORD_HEADER_BYTES;
    this.#words(fieldsAt, index, length);
    writeUnsigned64(this.target, fieldsAt + 8, offset);
    this.#close(codec === 'zstd' ? RecordType.ZSTD : RecordType.DEFLATE, FixedBytes.PACKED, packedBytes);
  }

  /** Writes the header. Returns the length of the whole message. */
  finish(sequence: number): number {
    const { target } = this;
    target.writeUInt32LE(layout.MAGIC, 0);
    target.writeUInt16LE(CAST_PROTOCOL_VERSION, layout.VERSION_AT);
    target.writeUInt16LE(0, layout.HEADER_ZERO_AT);
    writeUnsigned64(target, layout.SEQUENCE_AT, sequence);
    writeUnsigned64(target, layout.PAYLOAD_AT, this.#at - layout.MESSAGE_HEADER_BYTES);
    target.writeUInt32LE(this.#records, layout.RECORDS_AT);
    target.writeUInt32LE(crc32(target.subarray(0, layout.HEADER_CRC_AT)), layout.HEADER_CRC_AT);
    return this.#at;
  }

  #range(type: number, { index, offset, length }: Fields<HoleRecord | KeepRecord>): boolean {
    return this.#record(type, FixedBytes.HOLE, (at) => {
      this.#words(at, index, 0);
      writeUnsigned64(this.target, at + 8, offset);
      writeUnsigned64(this.target, at + 16, length);
    });
  }

  #record(type: number, fieldBytes: number, write: (at: number) => void): boolean {
    if (layout.RECORD_HEADER_BYTES + fieldBytes > this.spaceLeft) return false;
    write(this.#at + layout.RECORD_HEADER_BYTES);
    this.#close(type, fieldBytes, 0);
    return true;
  }

  #close(type: number, fieldBytes: number, dataBytes: number): void {
    const { target } = this;
    const start = this.#at;
    target.writeUInt32LE(type, start + layout.TYPE_AT);
    target.writeUInt32LE(fieldBytes, start + layout.FIELD_BYTES_AT);
    target.writeUInt32LE(dataBytes, start + layout.DATA_BYTES_AT);
    const fieldsEnd = start + layout.RECORD_HEADER_BYTES + fieldBytes;
    target.writeUInt32LE(crc32(target.subarray(start + layout.TYPE_AT, fieldsEnd)), start);
    this.#at = fieldsEnd + dataBytes;
    this.#records += 1;
  }

  #words(at: number, first: number, second: number): void {
    this.target.writeUInt32LE(first, at);
    this.target.writeUInt32LE(second, at + 4);
  }

  #time(at: number, { seconds, nanoseconds }: Timestamp): void {
    writeSigned64(this.target, at, seconds);
    this.#words(at + 8, nanoseconds, 0);
  }
}
