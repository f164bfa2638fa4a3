/**
 * What an object of the log holds of a key: the log's own payload (version, key, value; see @rdmc/tailwind), whose
 * value begins with the expiry.
 *
 * ```
 * value   = u8 0, bytes                      never expires
 *           u8 1, f64 expiresAt, bytes       little endian; milliseconds since 1970 on the wall clock
 * ```
 */
import { Buffer } from 'node:buffer';
import {
  decodeObject,
  decodeTombstone,
  EntryType,
  encodeObject,
  encodeTombstone,
  type LogEntry,
} from '@rdmc/tailwind';
import { NO_EXPIRY } from './entry.js';

const [LASTING, EXPIRING] = [0, 1] as const;
const EXPIRY_BYTES = 8;
/** What the log puts before a key: the entry's header, and the version with the key's length or the segment. */
const OBJECT_OVERHEAD_BYTES = 12 + 12;
const REMOVAL_OVERHEAD_BYTES = 12 + 16;

/** The content of an entry for a key, apart from the log. */
export interface KeyRecord {
  readonly key: string;
  readonly version: number;
  /** Undefined: removed. */
  readonly value: string | undefined;
  readonly expiresAt: number;
}

/** What an object takes of an append, in bytes: exactly what the log counts. */
export function objectBytes(keyBytes: number, valueBytes: number, expiresAt: number): number {
  return OBJECT_OVERHEAD_BYTES + keyBytes + prefixBytes(expiresAt) + valueBytes;
}

/** What a removal takes of an append, likewise. */
export function removalBytes(keyBytes: number): number {
  return REMOVAL_OVERHEAD_BYTES + keyBytes;
}

export function encodeKeyObject({ key, version, value, expiresAt }: KeyRecord & { value: string }): LogEntry {
  const prefix = prefixBytes(expiresAt);
  const bytes = Buffer.allocUnsafe(key.length + prefix + value.length);
  bytes.write(key, 0, key.length, 'latin1');
  if (expiresAt === NO_EXPIRY) bytes[key.length] = LASTING;
  else {
    bytes[key.length] = EXPIRING;
    bytes.writeDoubleLE(expiresAt, key.length + 1);
  }
  bytes.write(value, key.length + prefix, value.length, 'latin1');
  const parts = encodeObject(version, bytes.subarray(0, key.length), bytes.subarray(key.length));
  return { type: EntryType.OBJECT, parts };
}

export function encodeKeyRemoval(key: string, version: number, segmentId: bigint): LogEntry {
  return {
    type: EntryType.TOMBSTONE,
    parts: encodeTombstone(version, segmentId, Buffer.from(key, 'latin1')),
  };
}

/** @throws TailwindError ERR_RDMC_ENTRY_DAMAGED */
export function decodeRecord(type: number, payload: Uint8Array): KeyRecord | undefined {
  if (type === EntryType.TOMBSTONE) {
    const { key, version } = decodeTombstone(payload);
    return { key: latin1(key), version, value: undefined, expiresAt: NO_EXPIRY };
  }
  if (type !== EntryType.OBJECT) return undefined;
  const { key, version, value } = decodeObject(payload);
  const isExpiring = value[0] === EXPIRING;
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length);
  return {
    key: latin1(key),
    version,
    value: bytes.toString('latin1', isExpiring ? 1 + EXPIRY_BYTES : 1),
    expiresAt: isExpiring ? bytes.readDoubleLE(1) : NO_EXPIRY,
  };
}

/** The key and version of an object, without its value. */
export function decodeKey(payload: Uint8Array): { key: string; keyBytes: Uint8Array; version: number } {
  const { key, version } = decodeObject(payload);
  return { key: latin1(key), keyBytes: key, version };
}

function prefixBytes(expiresAt: number): number {
  return expiresAt === NO_EXPIRY ? 1 : 1 + EXPIRY_BYTES;
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}
