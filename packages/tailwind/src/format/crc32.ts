import { crc32 as zlibCrc32 } from 'node:zlib';

/**
 * Below this many bytes the tables are faster than a call of zlib (about 0.2 µs); above it zlib is faster, with
 * 2.4 GB/s against 0.7 GB/s on large buffers. Both compute the same function.
 */
const TABLE_BELOW_BYTES = 384;
const POLYNOMIAL = 0xedb88320;
/** Bytes per step. */
const STEP = 16;

/** `tables[256 t + b]`: contribution of byte b to the CRC when t more bytes follow it. */
function buildTables(): Int32Array {
  const tables = new Int32Array(256 * STEP);
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    tables[byte] = crc;
  }
  for (let at = 256; at < tables.length; at += 1) {
    const before = tables[at - 256]!;
    tables[at] = (before >>> 8) ^ tables[before & 255]!;
  }
  return tables;
}

const TABLES = buildTables();

/** Four bytes, the first of which is followed by `after + 3` more bytes of the step. */
function word(value: number, after: number): number {
  const at = after << 8;
  return (
    TABLES[at + 768 + (value & 255)]! ^
    TABLES[at + 512 + ((value >>> 8) & 255)]! ^
    TABLES[at + 256 + ((value >>> 16) & 255)]! ^
    TABLES[at + (value >>> 24)]!
  );
}

function tableCrc32(view: DataView, start: number, end: number, value: number): number {
  let crc = ~value;
  let at = start;
  for (; at + STEP <= end; at += STEP) {
    crc =
      word(view.getInt32(at, true) ^ crc, 12) ^
      word(view.getInt32(at + 4, true), 8) ^
      word(view.getInt32(at + 8, true), 4) ^
      word(view.getInt32(at + 12, true), 0);
  }
  for (; at + 4 <= end; at += 4) crc = word(view.getInt32(at, true) ^ crc, 0);
  for (; at < end; at += 1) crc = TABLES[(crc ^ view.getUint8(at)) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Computes CRCs of parts of one memory. */
export class Crc32 {
  readonly #view: DataView;

  constructor(private readonly bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** CRC-32 as zlib computes it, of `bytes[start, end)`, continuing from `value` (0 at the beginning). */
  of(start: number, end: number, value: number): number {
    if (end - start < TABLE_BELOW_BYTES) return tableCrc32(this.#view, start, end, value);
    return zlibCrc32(this.bytes.subarray(start, end), value);
  }
}

/** The same for a memory that is read once. */
export function crc32(bytes: Uint8Array, start: number, end: number, value: number): number {
  return new Crc32(bytes).of(start, end, value);
}
