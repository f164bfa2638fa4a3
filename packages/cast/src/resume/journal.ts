/**
 * The journal of a partial file: the ranges of that file which hold bytes of the file that is received. It lies beside
 * the partial file, and only grows. All integers are little endian.
 *
 * Header
 *
 *   byte  0       4         6       8        16         48      52      56
 *         +-------+---------+-------+--------+----------+-------+-------+---------
 *         | magic | version | flags | size   | identity | zero  | crc32 | records…
 *         | RDMJ  |   u16   |  u16  |  u64   |   32 B   |  u32  |  u32  |
 *         +-------+---------+-------+--------+----------+-------+-------+---------
 *   flags     1: each range was authenticated when it arrived (its messages were encrypted)
 *   size      of the whole file
 *   identity  of the file, see part-identity.ts
 *   crc32     (zlib) of the 52 bytes before it
 *
 * Record
 *
 *   byte  0      4        8      16     24     32     40      44      48
 *         +------+--------+------+------+------+------+-------+-------+
 *         | kind | number |  a   |  b   |  c   |  d   | zero  | crc32 |
 *         | u32  |  u32   | u64  | u64  | u64  | u64  |  u32  |  u32  |
 *         +------+--------+------+------+------+------+-------+-------+
 *   number  counts the records from 0
 *   crc32   of the 44 bytes before it, continued from the header's crc32: a record of another journal does not match
 *
 *   kind        a       b      c         d
 *   1 RANGE     start   end    0         0         bytes `start` to `end` are in the partial file, and on disk
 *   2 CLOSED    inode   size   mtimeNs   ctimeNs   of the partial file, when nothing will be written to it any more
 *
 * A RANGE is written when its bytes are on disk, and is synced itself afterwards. So a journal that was cut off or damaged
 * loses ranges at its end, and never claims too much. The first record that is not valid ends the journal. A CLOSED counts
 * only as the last record.
 */
import { crc32 } from 'node:zlib';
import { BlockSet } from '../delta/block-set.js';

const MAGIC = 0x4a4d_4452;
const VERSION = 1;
const AUTHENTICATED = 1;

export const JOURNAL_HEADER_BYTES = 56;
export const JOURNAL_RECORD_BYTES = 48;
const VERSION_AT = 4;
const FLAGS_AT = 6;
const SIZE_AT = 8;
const IDENTITY_AT = 16;
const HEADER_CRC_AT = 52;
const NUMBER_AT = 4;
const VALUES_AT = 8;
const RECORD_CRC_AT = 44;

const RecordKind = { RANGE: 1, CLOSED: 2 } as const;

/** Bytes `start` to `end` of a file. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** What a journal says about its file as a whole. */
export interface JournalFacts {
  readonly identity: Buffer;
  /** Of the whole file. */
  readonly size: number;
  /** Whether each range was authenticated when it arrived. */
  readonly authenticated: boolean;
}

/** A partial file, when nothing was written to it any more. */
export interface ClosedFile {
  readonly inode: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** A journal that was read. */
export interface Journal extends JournalFacts {
  /** In order, without overlaps. */
  readonly ranges: readonly Range[];
  /** Undefined where the file was not closed, or was opened again. */
  readonly closed: ClosedFile | undefined;
}

export function encodeHeader({ identity, size, authenticated }: JournalFacts): Buffer {
  const header = Buffer.alloc(JOURNAL_HEADER_BYTES);
  header.writeUInt32LE(MAGIC);
  header.writeUInt16LE(VERSION, VERSION_AT);
  header.writeUInt16LE(authenticated ? AUTHENTICATED : 0, FLAGS_AT);
  header.writeBigUInt64LE(BigInt(size), SIZE_AT);
  identity.copy(header, IDENTITY_AT, 0, HEADER_CRC_AT - 4 - IDENTITY_AT);
  header.writeUInt32LE(crc32(header.subarray(0, HEADER_CRC_AT)), HEADER_CRC_AT);
  return header;
}

/** @param header the header of its journal */
export function encodeRange(header: Buffer, number: number, { start, end }: Range): Buffer {
  return encodeRecord(header, RecordKind.RANGE, number, [BigInt(start), BigInt(end), 0n, 0n]);
}

/** @param header the header of its journal */
export function encodeClosed(header: Buffer, number: number, file: ClosedFile): Buffer {
  const { inode, size, mtimeNs, ctimeNs } = file;
  return encodeRecord(header, RecordKind.CLOSED, number, [inode, size, mtimeNs, ctimeNs]);
}

function encodeRecord(header: Buffer, kind: number, number: number, values: readonly bigint[]): Buffer {
  const record = Buffer.alloc(JOURNAL_RECORD_BYTES);
  record.writeUInt32LE(kind);
  record.writeUInt32LE(number, NUMBER_AT);
  for (const [at, value] of values.entries())
    record.writeBigUInt64LE(BigInt.asUintN(64, value), VALUES_AT + 8 * at);
  record.writeUInt32LE(crcOf(header, record), RECORD_CRC_AT);
  return record;
}

function crcOf(header: Buffer, record: Buffer): number {
  return crc32(record.subarray(0, RECORD_CRC_AT), header.readUInt32LE(HEADER_CRC_AT));
}

/** Reads a journal as far as it is valid; undefined where its header is not. */
export function decodeJournal(bytes: Buffer): Journal | undefined {
  const header = bytes.subarray(0, JOURNAL_HEADER_BYTES);
  if (!isHeader(header)) return undefined;
  const size = Number(header.readBigUInt64LE(SIZE_AT));
  const ranges: Range[] = [];
  let closed: ClosedFile | undefined;
  for (let number = 0, at = JOURNAL_HEADER_BYTES; at + JOURNAL_RECORD_BYTES <= bytes.length; number += 1) {
    const record = bytes.subarray(at, at + JOURNAL_RECORD_BYTES);
    at += JOURNAL_RECORD_BYTES;
    if (record.readUInt32LE(RECORD_CRC_AT) !== crcOf(header, record)) break;
    if (record.readUInt32LE(NUMBER_AT) !== number) break;
    closed = undefined;
    const kind = record.readUInt32LE();
    if (kind === RecordKind.CLOSED) closed = closedOf(record);
    else if (kind === RecordKind.RANGE) {
      const range = rangeOf(record);
      if (range.start >= range.end || range.end > size) break;
      ranges.push(range);
    } else break;
  }
  return {
    identity: Buffer.from(header.subarray(IDENTITY_AT, IDENTITY_AT + 32)),
    size,
    authenticated: header.readUInt16LE(FLAGS_AT) === AUTHENTICATED,
    ranges: united(ranges),
    closed,
  };
}

function isHeader(header: Buffer): boolean {
  return (
    header.length === JOURNAL_HEADER_BYTES &&
    header.readUInt32LE() === MAGIC &&
    header.readUInt16LE(VERSION_AT) === VERSION &&
    header.readUInt16LE(FLAGS_AT) <= AUTHENTICATED &&
    header.readBigUInt64LE(SIZE_AT) <= BigInt(Number.MAX_SAFE_INTEGER) &&
    header.readUInt32LE(HEADER_CRC_AT) === crc32(header.subarray(0, HEADER_CRC_AT))
  );
}

function rangeOf(record: Buffer): Range {
  const [start, end] = [record.readBigUInt64LE(VALUES_AT), record.readBigUInt64LE(VALUES_AT + 8)];
  return { start: Number(start), end: Number(end) };
}

function closedOf(record: Buffer): ClosedFile {
  const value = (at: number): bigint => record.readBigUInt64LE(VALUES_AT + 8 * at);
  const signed = (at: number): bigint => BigInt.asIntN(64, value(at));
  return { inode: value(0), size: value(1), mtimeNs: signed(2), ctimeNs: signed(3) };
}

function united(ranges: readonly Range[]): Range[] {
  const found: { start: number; end: number }[] = [];
  for (const { start, end } of [...ranges].sort((a, b) => a.start - b.start)) {
    const last = found.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else found.push({ start, end });
  }
  return found;
}

/** The blocks of a file of `size` bytes that lie in the ranges as a whole. The ranges are in order, without overlaps. */
export function blocksIn(ranges: readonly Range[], size: number, blockBytes: number): BlockSet {
  const blocks = new BlockSet(Math.ceil(size / blockBytes));
  for (const { start, end } of ranges) {
    const last = end === size ? blocks.blocks : Math.floor(end / blockBytes);
    for (let block = Math.ceil(start / blockBytes); block < last; block += 1) blocks.add(block);
  }
  return blocks;
}

/** The ranges of some blocks. */
export function rangesOf(blocks: BlockSet, size: number, blockBytes: number): Range[] {
  const ranges: Range[] = [];
  for (let block = 0; block < blocks.blocks; ) {
    const end = blocks.runEnd(block);
    if (blocks.has(block)) ranges.push({ start: block * blockBytes, end: Math.min(size, end * blockBytes) });
    block = end;
  }
  return ranges;
}
