import { crc32 } from 'node:zlib';
import type { Codec } from '../compression/codec.js';
import { CAST_PROTOCOL_VERSION, CHUNK_BYTES, MAX_PATH_BYTES } from '../constants.js';
import { CastError, protocolError } from '../errors.js';
import * as layout from './layout.js';
import { checkPath } from './paths.js';
import type { PackedRecord, StreamRecord, Timestamp } from './records.js';
import { readSigned64, readUnsigned64 } from './words.js';

const { RecordType, FixedBytes } = layout;
/** Types of records that have data. */
const WITH_DATA: ReadonlySet<number> = new Set([RecordType.DATA, RecordType.ZSTD, RecordType.DEFLATE]);
const NO_DATA = Buffer.alloc(0);
const NANOSECONDS = 1_000_000_000;

/**
 * Decodes and checks the records of one message: they have valid paths and are within the message. Nothing is copied.
 * The layout is drawn in `layout.ts`.
 *
 * @throws CastError ERR_RDMC_CAST_PROTOCOL, ERR_RDMC_VERSION_MISMATCH, ERR_RDMC_UNSAFE_PATH, at the record concerned
 */
export function* decodeMessage(message: Buffer, sequence: number): Generator<StreamRecord, void, undefined> {
  const records = checkHeader(message, sequence);
  let at = layout.MESSAGE_HEADER_BYTES;
  for (let number = 0; number < records; number += 1) {
    const { type, fields, data } = nextRecord(message, at);
    yield decodeRecord(type, fields, data);
    at += layout.RECORD_HEADER_BYTES + fields.length + data.length;
  }
  if (at !== message.length) throw protocolError(`message ${sequence} has bytes after its last record`);
}

function checkHeader(message: Buffer, sequence: number): number {
  const wrong = (what: string): CastError => protocolError(`message ${sequence} of the stream ${what}`);
  if (message.length < layout.MESSAGE_HEADER_BYTES) throw wrong(`has only ${message.length} bytes`);
  if (message.readUInt32LE(0) !== layout.MAGIC) throw wrong('does not begin with the magic number');
  const version = message.readUInt16LE(layout.VERSION_AT);
  if (version !== CAST_PROTOCOL_VERSION) {
    throw new CastError(
      'ERR_RDMC_VERSION_MISMATCH',
      `message ${sequence} of the stream has version ${version}, and this end uses ${CAST_PROTOCOL_VERSION}; install the same release at both ends`,
    );
  }
  const crc = crc32(message.subarray(0, layout.HEADER_CRC_AT));
  if (message.readUInt32LE(layout.HEADER_CRC_AT) !== crc) throw wrong('has a damaged header');
  if (message.readUInt16LE(layout.HEADER_ZERO_AT) !== 0) throw wrong('has a non-zero reserved field');
  const found = readUnsigned64(message, layout.SEQUENCE_AT);
  if (found !== sequence) throw wrong(`has the sequence number ${found}`);
  const payload = message.length - layout.MESSAGE_HEADER_BYTES;
  if (readUnsigned64(message, layout.PAYLOAD_AT) !== payload)
    throw wrong('has another length than its header says');
  return message.readUInt32LE(layout.RECORDS_AT);
}

function nextRecord(message: Buffer, at: number): { type: number; fields: Buffer; data: Buffer } {
  const left = message.length - at - layout.RECORD_HEADER_BYTES;
  if (left < 0) throw protocolError('a record begins beyond the end of its message');
  const fieldBytes = message.readUInt32LE(at + layout.FIELD_BYTES_AT);
  const dataBytes = message.readUInt32LE(at + layout.DATA_BYTES_AT);
  // Compared by subtraction: the sum of two malicious lengths could overflow.
  if (fieldBytes > left || dataBytes > left - fieldBytes) throw protocolError('a record is cut off');
  const fieldsAt = at + layout.RECORD_HEADER_BYTES;
  const fields = message.subarray(fieldsAt, fieldsAt + fieldBytes);
  const crc = crc32(message.subarray(at + layout.TYPE_AT, fieldsAt + fieldBytes));
  if (message.readUInt32LE(at) !== crc) throw protocolError('a record is damaged');
  const typeWord = message.readUInt32LE(at + layout.TYPE_AT);
  const dataAt = fieldsAt + fieldBytes;
  const data = dataBytes === 0 ? NO_DATA : message.subarray(dataAt, dataAt + dataBytes);
  if (dataBytes > 0 && !WITH_DATA.has(typeWord))
    throw protocolError('a record has data, and is of a type without data');
  return { type: typeWord, fields, data };
}

function decodeRecord(type: number, fields: Buffer, data: Buffer): StreamRecord {
  switch (type) {
    case RecordType.DIRECTORY:
      need(fields, FixedBytes.DIRECTORY, true);
      return {
        type: 'directory',
        index: fields.readUInt32LE(0),
        mode: fields.readUInt32LE(4),
        time: timeAt(fields, 8),
        path: pathOf(fields.subarray(FixedBytes.DIRECTORY)),
      };
    case RecordType.FILE_BEGIN:
      need(fields, FixedBytes.FILE_BEGIN, true);
      return {
        type: 'fileBegin',
        index: fields.readUInt32LE(0),
        mode: fields.readUInt32LE(4),
        time: timeAt(fields, 8),
        size: lengthAt(fields, 8 + layout.TIME_BYTES),
        path: pathOf(fields.subarray(FixedBytes.FILE_BEGIN)),
      };
    case RecordType.DATA:
      need(fields, FixedBytes.DATA);
      needZero(fields, 4);
      return { type: 'data', index: fields.readUInt32LE(0), offset: lengthAt(fields, 8), data };
    case RecordType.ZSTD:
      return packedIn('zstd', fields, data);
    case RecordType.DEFLATE:
      return packedIn('deflate', fields, data);
    case RecordType.HOLE:
      return { type: 'hole', ...rangeIn(fields) };
    case RecordType.KEEP:
      return { type: 'keep', ...rangeIn(fields) };
    case RecordType.FILE_END:
      return decodeFileEnd(fields);
    case RecordType.SYMBOLIC_LINK:
      return decodeSymbolicLink(fields);
    case RecordType.HARD_LINK:
      return decodeHardLink(fields);
    case RecordType.STREAM_END:
      need(fields, FixedBytes.STREAM_END);
      return {
        type: 'streamEnd',
        files: fields.readUInt32LE(0),
        directories: fields.readUInt32LE(4),
        symbolicLinks: fields.readUInt32LE(8),
        hardLinks: fields.readUInt32LE(12),
        bytes: lengthAt(fields, 16),
      };
    case RecordType.CHECK:
      need(fields, FixedBytes.CHECK);
      needZero(fields, 4);
      return { type: 'check', number: fields.readUInt32LE(0), digest: fields.subarray(8) };
    default:
      throw protocolError(`a record has the unknown type ${type}`);
  }
}

function packedIn(codec: Codec, fields: Buffer, data: Buffer): PackedRecord {
  need(fields, FixedBytes.PACKED);
  const length = fields.readUInt32LE(4);
  if (length > CHUNK_BYTES || data.length >= length)
    throw protocolError(`a compressed piece of ${length} bytes has ${data.length} in its record`);
  return { type: 'packed', index: fields.readUInt32LE(0), offset: lengthAt(fields, 8), length, codec, data };
}

/** The fields of HOLE and KEEP. */
function rangeIn(fields: Buffer) {
  need(fields, FixedBytes.HOLE);
  needZero(fields, 4);
  return { index: fields.readUInt32LE(0), offset: lengthAt(fields, 8), length: lengthAt(fields, 16) };
}

function decodeFileEnd(fields: Buffer): StreamRecord {
  need(fields, FixedBytes.FILE_END);
  const status = fields.readUInt32LE(4);
  if (status !== 0 && status !== 1 && status !== 2) throw protocolError(`a file ends with status ${status}`);
  return { type: 'fileEnd', index: fields.readUInt32LE(0), status, digest: fields.subarray(8) };
}

function decodeSymbolicLink(fields: Buffer): StreamRecord {
  need(fields, FixedBytes.SYMBOLIC_LINK, true);
  const [path, target] = twoPaths(fields, FixedBytes.SYMBOLIC_LINK, fields.readUInt32LE(4));
  if (target.length === 0 || target.length >= MAX_PATH_BYTES || target.includes(0)) {
    throw protocolError('a symbolic link has an impossible target');
  }
  return {
    type: 'symbolicLink',
    index: fields.readUInt32LE(0),
    time: timeAt(fields, 8),
    path: pathOf(path),
    target,
  };
}

function decodeHardLink(fields: Buffer): StreamRecord {
  need(fields, FixedBytes.HARD_LINK, true);
  needZero(fields, 12);
  const [path, targetPath] = twoPaths(fields, FixedBytes.HARD_LINK, fields.readUInt32LE(8));
  return {
    type: 'hardLink',
    index: fields.readUInt32LE(0),
    targetIndex: fields.readUInt32LE(4),
    path: pathOf(path),
    targetPath: pathOf(targetPath),
  };
}

function twoPaths(fields: Buffer, at: number, firstBytes: number): [Buffer, Buffer] {
  if (firstBytes > fields.length - at) throw protocolError('a link has a longer path than its record');
  return [fields.subarray(at, at + firstBytes), fields.subarray(at + firstBytes)];
}

function need(fields: Buffer, bytes: number, more = false): void {
  if (more ? fields.length >= bytes : fields.length === bytes) return;
  throw protocolError(`a record has ${fields.length} bytes of fields; ${bytes} are needed`);
}

function needZero(fields: Buffer, at: number): void {
  if (fields.readUInt32LE(at) !== 0) throw protocolError('a record has a non-zero reserved field');
}

function pathOf(path: Buffer): Buffer {
  checkPath(path);
  return path;
}

function lengthAt(fields: Buffer, at: number): number {
  const value = readUnsigned64(fields, at);
  if (value === undefined) throw protocolError('a record has a length or offset beyond 2^53');
  return value;
}

function timeAt(fields: Buffer, at: number): Timestamp {
  const seconds = readSigned64(fields, at);
  const nanoseconds = fields.readUInt32LE(at + 8);
  needZero(fields, at + 12);
  if (seconds === undefined || nanoseconds >= NANOSECONDS)
    throw protocolError('a record has an impossible time');
  return { seconds, nanoseconds };
}
