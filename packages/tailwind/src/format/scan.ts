import { Crc32 } from './crc32.js';
import { seedCrc } from './identity.js';
import {
  CHECKSUM_PAYLOAD_BYTES,
  EntryType,
  entryTypeName,
  HEADER_BYTES,
  readU32,
  type SegmentIdentity,
} from './layout.js';
import { checksumValue } from './segment-writer.js';

/** Why a scan stopped, or why the result is corrupt although the scan stopped at a valid place. */
export type ScanReason =
  /** The scan used every byte. */
  | 'end'
  /** Fewer than 12 bytes are left. */
  | 'short-header'
  /** Type 0: nothing was written from here on. */
  | 'zero-type'
  | 'unknown-type'
  | 'reserved-bytes'
  | 'length-beyond-limit'
  | 'data-crc'
  | 'checksum-length'
  | 'checksum-zero'
  | 'checksum-mismatch'
  /** Corrupt: the certificate's length exceeds the bytes, or differs from the length of the scanned data. */
  | 'certificate-length'
  | 'certificate-checksum'
  /** Corrupt: data that is known to be durable here is missing. */
  | 'below-floor';

/** A primary's statement about a segment that it closes: its length, and its last checksum. */
export interface Certificate {
  /** Length of the segment's data, in bytes. */
  readonly byteLength: number;
  /** Value of its last checksum. */
  readonly checksum: number;
}

/** What a scan knows of the segment. */
export interface ScanOptions extends SegmentIdentity {
  /** The segment was closed: it must match this exactly. */
  readonly certificate?: Certificate | undefined;
  /** The segment is corrupt if it holds fewer bytes. */
  readonly floorBytes?: number | undefined;
}

/** How much of a segment is complete. */
export interface ScanResult {
  /** 'corrupt': a part that must be complete is missing or wrong. */
  readonly status: 'ok' | 'corrupt';
  /** End of the last complete group; 0 if there is none. */
  readonly offset: number;
  /** Value of the checksum that ends there; 0 if there is none. */
  readonly checksum: number;
  /** Why the scan ended. */
  readonly reason: ScanReason;
}

/** One entry of a segment. */
export interface SegmentEntry {
  /** Kind of the entry: a value of {@link EntryType}. */
  readonly type: number;
  /** Offset of the entry's header. */
  readonly offset: number;
  /** A part of the segment's memory, not a copy. */
  readonly payload: Uint8Array;
}

/**
 * Determines how much of a segment is complete, by walking over its entries (Tailwind, section 3.3.1 and
 * Algorithm 1; ./layout.ts lists the stricter rules here). Only a matching checksum that closes at least one entry
 * moves the offset. Whatever the bytes are, nothing outside of them is read, and the offset is never past the
 * first damaged byte.
 *
 * An open buffer is ok up to that offset. A buffer with a certificate is ok only if it matches the certificate
 * exactly; otherwise the whole replica is unusable.
 *
 * @throws TailwindError ERR_RDMC_INVALID_OPTION for an identity out of range
 */
export function scanSegment(bytes: Uint8Array, options: ScanOptions): ScanResult {
  const { certificate, floorBytes = 0 } = options;
  const limit = certificate ? Math.min(certificate.byteLength, bytes.length) : bytes.length;
  const found = walk(bytes, limit, seedCrc(options));
  if (certificate) return checkCertificate(found, certificate, bytes.length);
  if (found.offset >= floorBytes) return found;
  return { ...found, status: 'corrupt', reason: isPlainEnd(found.reason) ? 'below-floor' : found.reason };
}

/**
 * The entries of a segment's first `endOffset` bytes, checksums included. These bytes must have been scanned:
 * nothing is verified again.
 */
export function* segmentEntries(bytes: Uint8Array, endOffset: number): Generator<SegmentEntry, void> {
  let offset = 0;
  while (offset < endOffset) {
    const end = offset + HEADER_BYTES + readU32(bytes, offset + 4);
    yield { type: bytes[offset]!, offset, payload: bytes.subarray(offset + HEADER_BYTES, end) };
    offset = end;
  }
}

/** Reasons that do not indicate damage by themselves. */
function isPlainEnd(reason: ScanReason): boolean {
  return reason === 'zero-type' || reason === 'end' || reason === 'short-header';
}

function checkCertificate(found: ScanResult, certificate: Certificate, available: number): ScanResult {
  const { byteLength, checksum } = certificate;
  if (byteLength > available) return { ...found, status: 'corrupt', reason: 'certificate-length' };
  if (found.offset !== byteLength) {
    const reason = isPlainEnd(found.reason) ? 'certificate-length' : found.reason;
    return { ...found, status: 'corrupt', reason };
  }
  if (found.checksum === checksum) return found;
  return { ...found, status: 'corrupt', reason: 'certificate-checksum' };
}

function walk(bytes: Uint8Array, limit: number, seed: number): ScanResult {
  const crc32 = new Crc32(bytes);
  let position = 0;
  let crc = seed;
  let offset = 0;
  let checksum = 0;
  let groupIsEmpty = true;
  let reason: ScanReason | undefined;
  while (reason === undefined) {
    reason = headerProblem(bytes, position, limit);
    if (reason !== undefined) break;
    const dataStart = position + HEADER_BYTES;
    const dataEnd = dataStart + readU32(bytes, position + 4);
    crc = crc32.of(position, dataStart, crc);
    if (bytes[position] === EntryType.CHECKSUM) {
      reason = checksumProblem(bytes, dataStart, dataEnd, crc);
      if (reason !== undefined) break;
      if (!groupIsEmpty) {
        offset = dataEnd;
        checksum = readU32(bytes, dataStart);
      }
      groupIsEmpty = true;
    } else {
      if (crc32.of(dataStart, dataEnd, 0) !== readU32(bytes, position + 8)) reason = 'data-crc';
      groupIsEmpty = false;
    }
    position = dataEnd;
  }
  return { status: 'ok', offset, checksum, reason };
}

function headerProblem(bytes: Uint8Array, position: number, limit: number): ScanReason | undefined {
  const left = limit - position;
  if (left === 0) return 'end';
  if (left < HEADER_BYTES) return 'short-header';
  const type = bytes[position]!;
  if (type === 0) return 'zero-type';
  if (entryTypeName(type) === undefined) return 'unknown-type';
  if ((bytes[position + 1]! | bytes[position + 2]! | bytes[position + 3]!) !== 0) return 'reserved-bytes';
  return readU32(bytes, position + 4) > left - HEADER_BYTES ? 'length-beyond-limit' : undefined;
}

function checksumProblem(
  bytes: Uint8Array,
  dataStart: number,
  dataEnd: number,
  crc: number,
): ScanReason | undefined {
  if (dataEnd - dataStart !== CHECKSUM_PAYLOAD_BYTES) return 'checksum-length';
  const value = readU32(bytes, dataStart);
  if (value === 0) return 'checksum-zero';
  return value === checksumValue(crc) ? undefined : 'checksum-mismatch';
}
