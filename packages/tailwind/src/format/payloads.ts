/**
 * Payloads of the four kinds of entries. Little endian.
 *
 * ```
 * segment header  u64 logId, u64 segmentId, u32 incarnation, u32 segmentBytes      the first entry of a segment
 * log digest      u64 segmentId …, ascending                                       every segment of the log
 * object          u64 version, u32 keyLength, key, value
 * tombstone       u64 version, u64 segmentId, key            the segment that holds the object it removes
 * ```
 *
 * Versions rise with every change of a key, so that replay keeps the highest (RAMCloud, SOSP 2011).
 */
import { TailwindError } from '../errors.js';
import { readU32, readU64, type SegmentIdentity, writeU32, writeU64 } from './layout.js';

const TWO_32 = 4_294_967_296;
const SEGMENT_HEADER_BYTES = 24;
const OBJECT_PREFIX_BYTES = 12;
const TOMBSTONE_PREFIX_BYTES = 16;

/** The first entry of a segment: it identifies the segment. */
export interface SegmentHeader extends SegmentIdentity {
  /** The size of the segment, not of what it holds. */
  readonly segmentBytes: number;
}

/** Keys and values are parts of the segment's memory, not copies. */
export interface LogObject {
  /** Rises with every change of the key; a safe integer. */
  readonly version: number;
  /** The key: a part of the segment's memory. */
  readonly key: Uint8Array;
  /** The value: a part of the segment's memory. */
  readonly value: Uint8Array;
}

/** Removes an object. The key is a part of the segment's memory, not a copy. */
export interface LogTombstone {
  /** The version of the removal; it is above the object's. */
  readonly version: number;
  /** The segment that holds the removed object. */
  readonly segmentId: bigint;
  /** The removed key. */
  readonly key: Uint8Array;
}

/** The payload of a segment's first entry. */
export function encodeSegmentHeader(header: SegmentHeader): Uint8Array {
  const bytes = new Uint8Array(SEGMENT_HEADER_BYTES);
  writeU64(bytes, 0, header.logId);
  writeU64(bytes, 8, header.segmentId);
  writeU32(bytes, 16, header.incarnation);
  writeU32(bytes, 20, header.segmentBytes);
  return bytes;
}

/** @throws TailwindError ERR_RDMC_ENTRY_DAMAGED */
export function decodeSegmentHeader(payload: Uint8Array): SegmentHeader {
  if (payload.length !== SEGMENT_HEADER_BYTES) throw damaged('segment header', payload);
  return {
    logId: readU64(payload, 0),
    segmentId: readU64(payload, 8),
    incarnation: readU32(payload, 16),
    segmentBytes: readU32(payload, 20),
  };
}

/** The payload of a log digest: the ids of all segments, ascending. */
export function encodeDigest(segmentIds: readonly bigint[]): Uint8Array {
  const bytes = new Uint8Array(segmentIds.length * 8);
  segmentIds.forEach((id, index) => {
    writeU64(bytes, index * 8, id);
  });
  return bytes;
}

/** @throws TailwindError ERR_RDMC_ENTRY_DAMAGED */
export function decodeDigest(payload: Uint8Array): bigint[] {
  if (payload.length % 8 !== 0) throw damaged('log digest', payload);
  const ids = Array.from({ length: payload.length / 8 }, (_, index) => readU64(payload, index * 8));
  if (ids.some((id, index) => index > 0 && id <= ids[index - 1]!)) throw damaged('log digest', payload);
  return ids;
}

/** An object's payload, as parts for `append`: version, key length and key, then the value. */
export function encodeObject(version: number, key: Uint8Array, value: Uint8Array): Uint8Array[] {
  const prefix = new Uint8Array(OBJECT_PREFIX_BYTES);
  writeVersion(prefix, version);
  writeU32(prefix, 8, key.length);
  return [prefix, key, value];
}

/** @throws TailwindError ERR_RDMC_ENTRY_DAMAGED */
export function decodeObject(payload: Uint8Array): LogObject {
  const keyLength = payload.length < OBJECT_PREFIX_BYTES ? 0 : readU32(payload, 8);
  if (keyLength > payload.length - OBJECT_PREFIX_BYTES) throw damaged('object', payload);
  return {
    version: readVersion('object', payload),
    key: payload.subarray(OBJECT_PREFIX_BYTES, OBJECT_PREFIX_BYTES + keyLength),
    value: payload.subarray(OBJECT_PREFIX_BYTES + keyLength),
  };
}

/** A tombstone's payload, as parts for `append`: version, id of the segment of the object it removes, key. */
export function encodeTombstone(version: number, segmentId: bigint, key: Uint8Array): Uint8Array[] {
  const prefix = new Uint8Array(TOMBSTONE_PREFIX_BYTES);
  writeVersion(prefix, version);
  writeU64(prefix, 8, segmentId);
  return [prefix, key];
}

/** @throws TailwindError ERR_RDMC_ENTRY_DAMAGED */
export function decodeTombstone(payload: Uint8Array): LogTombstone {
  if (payload.length < TOMBSTONE_PREFIX_BYTES) throw damaged('tombstone', payload);
  return {
    version: readVersion('tombstone', payload),
    segmentId: readU64(payload, 8),
    key: payload.subarray(TOMBSTONE_PREFIX_BYTES),
  };
}

/** The key of an object or tombstone; for a malformed payload, as much of it as there is. */
export function keyOfPayload(isTombstone: boolean, payload: Uint8Array): Uint8Array {
  if (isTombstone) return payload.subarray(TOMBSTONE_PREFIX_BYTES);
  const keyLength = payload.length < OBJECT_PREFIX_BYTES ? 0 : readU32(payload, 8);
  return payload.subarray(OBJECT_PREFIX_BYTES, OBJECT_PREFIX_BYTES + keyLength);
}

/** A key as text, a character per byte: for maps and sets. */
export function keyText(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1');
}

function writeVersion(prefix: Uint8Array, version: number): void {
  if (!Number.isSafeInteger(version) || version < 0) {
    throw new TailwindError(
      'ERR_RDMC_INVALID_OPTION',
      `A version is a whole number from 0 to 2^53 - 1, not ${version}`,
    );
  }
  writeU32(prefix, 0, version % TWO_32);
  writeU32(prefix, 4, Math.floor(version / TWO_32));
}

function readVersion(what: string, payload: Uint8Array): number {
  const version = readU32(payload, 4) * TWO_32 + readU32(payload, 0);
  if (!Number.isSafeInteger(version)) throw damaged(what, payload);
  return version;
}

function damaged(what: string, payload: Uint8Array): TailwindError {
  return new TailwindError(
    'ERR_RDMC_ENTRY_DAMAGED',
    `Malformed ${what} of ${payload.length} bytes, although its checksums match; run the version that wrote it`,
  );
}
