import { crc32 as zlibCrc32 } from 'node:zlib';

/**
 * Below this many bytes the tables are faster than the call into zlib (about 0.2 µs); above it zlib wins, with
 * 2.4 GB/s against 0.4 GB/s on large buffers. Both compute the same function.
 */
const TABLE_BELOW_BYTES = 96;
const POLYNOMIAL = 0xedb88320;

/** `tables[t][b]`: what byte b contributes to the CRC when t more bytes follow it. */
function buildTables(): readonly [Int32Array, Int32Array, Int32Array, Int32Array] {
  const tables = [0, 1, 2, 3].map(() => new Int32Array(256));
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    tables[0]![byte] = crc;
  }
  for (let t = 1; t < 4; t += 1) {
    for (let byte = 0; byte < 256; byte += 1) {
      const before = tables[t - 1]![byte]!;
      tables[t]![byte] = (before >>> 8) ^ tables[0]![before & 255]!;
    }
  }
  return tables as [Int32Array, Int32Array, Int32Array, Int32Array];
}

const [AFTER_0, AFTER_1, AFTER_2, AFTER_3] = buildTables();

function tableCrc32(bytes: Uint8Array, start: number, end: number, value: number): number {
  let crc = ~value;
  let at = start;
  for (; at + 4 <= end; at += 4) {
    crc ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    crc =
      AFTER_3[crc & 255]! ^
      AFTER_2[(crc >>> 8) & 255]! ^
      AFTER_1[(crc >>> 16) & 255]! ^
      AFTER_0[(crc >>> 24) & 255]!;
  }
  for (; at < end; at += 1) crc = AFTER_0[(crc ^ bytes[at]!) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** CRC-32 as zlib computes it, of `bytes[start, end)`, going on from `value` (0 at the beginning). */
export function crc32(bytes: Uint8Array, start: number, end: number, value: number): number {
  if (end - start < TABLE_BELOW_BYTES) return tableCrc32(bytes, start, end, value);
  return zlibCrc32(bytes.subarray(start, end), value);
}
