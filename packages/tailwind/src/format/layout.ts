/**
 * Log format, version 1: the bytes of a segment. Everything is little endian.
 *
 * ```
 * segment   = group group … zeros
 * group     = entry … checksum                       one append, sent as one one-sided write
 * entry     = header payload
 *
 * header    0        1        2            4                8                12
 *           ├────────┼────────┼────────────┼────────────────┼────────────────┤
 *           │ type   │ 0      │ 0          │ length         │ dataCrc        │
 *           │ u8     │ u8     │ u16        │ u32, payload's │ u32, payload's │
 *
 * checksum  0                             12               16
 *           ├─────────────────────────────┼────────────────┤
 *           │ header { 9, 0, 0, 4, 0 }    │ value u32      │
 *
 * seed      0                8                16            20
 *           │ logId u64      │ segmentId u64  │ incarnation │      never stored: the running CRC begins with it
 *           │ logId u64      │ segmentId u64  │ incarnation │      never stored: what the running CRC begins with
 * ```
 *
 * `dataCrc` is the CRC-32 (as zlib's) of the payload. `value` is the running CRC: the CRC-32 over the seed and then
 * over the 12 header bytes of every entry so far, this checksum's own header included; 1 if that is 0. So a value is
 * never 0, a buffer that was zeroed never verifies, and bytes of an earlier segment do not verify either.
 *
 * This is the paper's metadata (Tailwind, ATC 2018, sections 3.1 and 3.3) with its gaps closed: a checksum covers
 * its own header, payloads have a checksum of their own, and the seed ties the bytes to one log and segment.
 */
export const FORMAT_VERSION = 1;

export const HEADER_BYTES = 12;
export const CHECKSUM_PAYLOAD_BYTES = 4;
export const CHECKSUM_ENTRY_BYTES = HEADER_BYTES + CHECKSUM_PAYLOAD_BYTES;
export const SEED_BYTES = 20;

/** Types of entries. 0 ends the scan; any other value not listed here stops it. */
export const EntryType = {
  SEGMENT_HEADER: 1,
  OBJECT: 2,
  TOMBSTONE: 3,
  LOG_DIGEST: 4,
  CHECKSUM: 9,
} as const;
/** The type of an entry, as it is stored: a value of {@link EntryType}. */
export type EntryTypeNumber = (typeof EntryType)[keyof typeof EntryType];

const NAMES = new Map<number, string>([
  [EntryType.SEGMENT_HEADER, 'segment-header'],
  [EntryType.OBJECT, 'object'],
  [EntryType.TOMBSTONE, 'tombstone'],
  [EntryType.LOG_DIGEST, 'log-digest'],
  [EntryType.CHECKSUM, 'checksum'],
]);

/** A type's name, as the command prints it; undefined for a type that does not exist. */
export function entryTypeName(type: number): string | undefined {
  return NAMES.get(type);
}

/** Identifies a segment. Bytes written under one identity do not verify under another. */
export interface SegmentIdentity {
  /** 0 to 2^64 − 1. */
  readonly logId: bigint;
  /** 0 to 2^64 − 1; later segments of a log have higher ones. */
  readonly segmentId: bigint;
  /** 0 to 2^32 − 1. */
  readonly incarnation: number;
}

export function readU32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
}

export function writeU32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
  bytes[at + 3] = value >>> 24;
}

export function readU64(bytes: Uint8Array, at: number): bigint {
  return (BigInt(readU32(bytes, at + 4)) << 32n) | BigInt(readU32(bytes, at));
}

export function writeU64(bytes: Uint8Array, at: number, value: bigint): void {
  writeU32(bytes, at, Number(value & 0xffff_ffffn));
  writeU32(bytes, at + 4, Number(value >> 32n));
}
