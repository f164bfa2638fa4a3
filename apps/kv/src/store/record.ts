/**
 * Entries of the log. The log knows keys, versions and removals (see @rdmc/tailwind); a key of the log is a key of the
 * store, or one field of a hash. Little endian.
 *
 * ```
 * key of the log = u8 0, key                          a string, or the head of a hash
 *                  u8 1, u32 keyLength, key, field    a field of a hash
 *
 * value of a key   = u8 0, bytes                      a string that never expires
 *                    u8 1, f64 expiresAt, bytes       a string; milliseconds since 1970 on the wall clock
 *                    u8 2, u64 generation             a hash that never expires
 *                    u8 3, f64 expiresAt, u64 generation
 * value of a field = bytes
 * ```
 *
 * A write of a field is one entry, whatever the size of its hash. The generation of a hash is the version of its head when it
 * was created, and versions rise in the whole store: so a field belongs to the hash exactly where its version is above the
 * generation. One removal of the head, or a string in its place, removes all fields. Their entries are garbage, also where the
 * key becomes a hash again: the new generation is above their versions.
 *
 * A field that is removed alone leaves a removal with the field's key of the log. The log keeps it as long as another segment
 * has an entry of that field, as it does for keys.
 */
import { Buffer } from 'node:buffer';
import {
  decodeObject,
  decodeTombstone,
  EntryType,
  encodeObject,
  encodeTombstone,
  type LogEntry,
  TailwindError,
} from '@rdmc/tailwind';
import { NO_EXPIRY } from './entry.js';

const [KEY, FIELD] = [0, 1] as const;
const [EXPIRING, HASH] = [1, 2] as const;
const EXPIRY_BYTES = 8;
const GENERATION_BYTES = 8;
const FIELD_PREFIX_BYTES = 1 + 4;
const TWO_32 = 4_294_967_296;
const SHORT_TEXT = 32;
/** Of an entry in the log. */
export const HEADER_BYTES = 12;
/** What the log puts before a key: the version with the key's length, or with the segment. */
const OBJECT_PREFIX_BYTES = 12;
const REMOVAL_PREFIX_BYTES = 16;
const OBJECT_OVERHEAD_BYTES = HEADER_BYTES + OBJECT_PREFIX_BYTES;
const REMOVAL_OVERHEAD_BYTES = HEADER_BYTES + REMOVAL_PREFIX_BYTES;

/** The content of an entry, apart from the log. */
export interface KeyRecord {
  readonly key: string;
  /** Undefined: the record is of the key, not of a field. */
  readonly field?: string | undefined;
  readonly version: number;
  /** A number is the generation of a hash. Undefined: removed. */
  readonly value: string | number | undefined;
  readonly expiresAt: number;
}

/** The key of an entry of the log, in parts of the entry's memory. */
export interface LogKey {
  readonly key: Uint8Array;
  /** Undefined: the entry is of the key. */
  readonly field: Uint8Array | undefined;
  readonly version: number;
}

export const NO_BYTES = Buffer.alloc(0);

/** An entry in the bytes of a log: its header begins at `at`. */
export interface KeyPlace {
  bytes: Buffer;
  at: number;
  end: number;
  keyStart: number;
  keyEnd: number;
  version: number;
}

/** What a string takes of an append, in bytes: exactly what the log counts. */
export function objectBytes(keyBytes: number, valueBytes: number, expiresAt: number): number {
  return OBJECT_OVERHEAD_BYTES + 1 + keyBytes + prefixBytes(expiresAt) + valueBytes;
}

/** What the head of a hash takes of an append, likewise. */
export function headBytes(keyBytes: number, expiresAt: number): number {
  return objectBytes(keyBytes, GENERATION_BYTES, expiresAt);
}

/** What a field takes of an append, likewise. */
export function fieldBytes(keyBytes: number, nameBytes: number, valueBytes: number): number {
  return OBJECT_OVERHEAD_BYTES + FIELD_PREFIX_BYTES + keyBytes + nameBytes + valueBytes;
}

/** What the removal of a key takes of an append, likewise. */
export function removalBytes(keyBytes: number): number {
  return REMOVAL_OVERHEAD_BYTES + 1 + keyBytes;
}

/** What the removal of a field takes of an append, likewise. */
export function fieldRemovalBytes(keyBytes: number, nameBytes: number): number {
  return REMOVAL_OVERHEAD_BYTES + FIELD_PREFIX_BYTES + keyBytes + nameBytes;
}

export function encodeKeyObject({ key, version, value, expiresAt }: KeyRecord & { value: string }): LogEntry {
  const keyEnd = 1 + key.length;
  const valueStart = keyEnd + prefixBytes(expiresAt);
  const bytes = Buffer.allocUnsafe(valueStart + value.length);
  writeKey(bytes, key);
  writePrefix(bytes, keyEnd, 0, expiresAt);
  bytes.write(value, valueStart, value.length, 'latin1');
  return object(version, bytes, keyEnd);
}

/** The head of a hash. */
export function encodeHead({ key, version, value, expiresAt }: KeyRecord & { value: number }): LogEntry {
  const keyEnd = 1 + key.length;
  const valueStart = keyEnd + prefixBytes(expiresAt);
  const bytes = Buffer.allocUnsafe(valueStart + GENERATION_BYTES);
  writeKey(bytes, key);
  writePrefix(bytes, keyEnd, HASH, expiresAt);
  writeU64(bytes, valueStart, value);
  return object(version, bytes, keyEnd);
}

export function encodeField(key: string, field: string, version: number, value: string): LogEntry {
  const keyEnd = FIELD_PREFIX_BYTES + key.length + field.length;
  const bytes = Buffer.allocUnsafe(keyEnd + value.length);
  writeFieldKey(bytes, key, field);
  bytes.write(value, keyEnd, value.length, 'latin1');
  return object(version, bytes, keyEnd);
}

export function encodeKeyRemoval(key: string, version: number, segmentId: bigint): LogEntry {
  const bytes = Buffer.allocUnsafe(1 + key.length);
  writeKey(bytes, key);
  return { type: EntryType.TOMBSTONE, parts: encodeTombstone(version, segmentId, bytes) };
}

export function encodeFieldRemoval(key: string, field: string, version: number, segmentId: bigint): LogEntry {
  const bytes = Buffer.allocUnsafe(FIELD_PREFIX_BYTES + key.length + field.length);
  writeFieldKey(bytes, key, field);
  return { type: EntryType.TOMBSTONE, parts: encodeTombstone(version, segmentId, bytes) };
}

/** Writes the payload that `encodeKeyObject` or `encodeHead` gives in parts, without objects. Returns its end. */
export function writeKeyPayload(
  bytes: Buffer,
  at: number,
  { key, version, value, expiresAt }: KeyRecord & { value: string | number },
): number {
  const keyStart = at + OBJECT_PREFIX_BYTES;
  const keyEnd = keyStart + 1 + key.length;
  const valueStart = keyEnd + prefixBytes(expiresAt);
  writeObjectPrefix(bytes, at, version, keyEnd - keyStart);
  writeKey(bytes, key, keyStart);
  writePrefix(bytes, keyEnd, typeof value === 'number' ? HASH : 0, expiresAt);
  if (typeof value === 'string') return writeText(bytes, valueStart, value);
  writeU64(bytes, valueStart, value);
  return valueStart + GENERATION_BYTES;
}

/** The same for a field, as `encodeField`. */
export function writeFieldPayload(
  bytes: Buffer,
  at: number,
  { key, field, version, value }: { key: string; field: string; version: number; value: string },
): number {
  const keyStart = at + OBJECT_PREFIX_BYTES;
  const keyEnd = keyStart + FIELD_PREFIX_BYTES + key.length + field.length;
  writeObjectPrefix(bytes, at, version, keyEnd - keyStart);
  writeFieldKey(bytes, key, field, keyStart);
  return writeText(bytes, keyEnd, value);
}

/** Undefined for entries that are not of a key. @throws TailwindError ERR_RDMC_ENTRY_DAMAGED */
export function decodeRecord(type: number, payload: Uint8Array): KeyRecord | undefined {
  const found = decodeKey(type, payload);
  if (!found) return undefined;
  const { version } = found;
  const key = latin1(found.key);
  const field = found.field && latin1(found.field);
  if (type === EntryType.TOMBSTONE) return { key, field, version, value: undefined, expiresAt: NO_EXPIRY };
  const { value } = decodeObject(payload);
  if (field !== undefined) return { key, field, version, value: latin1(value), expiresAt: NO_EXPIRY };
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length);
  const flags = bytes.length === 0 ? HASH | EXPIRING : bytes[0]!;
  const start = flags & EXPIRING ? 1 + EXPIRY_BYTES : 1;
  if (flags > (HASH | EXPIRING) || bytes.length < start + (flags & HASH ? GENERATION_BYTES : 0)) {
    throw damaged(`a value of ${bytes.length} bytes`);
  }
  return {
    key,
    field,
    version,
    value: flags & HASH ? readU64(bytes, start) : bytes.toString('latin1', start),
    expiresAt: flags & EXPIRING ? bytes.readDoubleLE(1) : NO_EXPIRY,
  };
}

/**
 * Finds the key of an entry that lies in a log's bytes with its header, where it is of a whole key: a string, the head of a hash or
 * a removal. False for all others, and for entries that `decodeRecord` refuses. Allocates nothing.
 * @param place `bytes`, `at` and `end` are the entry's; key and version are set
 */
export function readKeyPlace(place: KeyPlace): boolean {
  const { bytes, at, end } = place;
  const payload = at + HEADER_BYTES;
  const isRemoval = bytes[at] === EntryType.TOMBSTONE;
  if (!isRemoval && bytes[at] !== EntryType.OBJECT) return false;
  const start = payload + (isRemoval ? REMOVAL_PREFIX_BYTES : OBJECT_PREFIX_BYTES);
  const keyEnd = isRemoval ? end : start + (start <= end ? bytes.readUInt32LE(start - 4) : 0);
  if (start >= keyEnd || keyEnd > end || bytes[start] !== KEY) return false;
  place.keyStart = start + 1;
  place.keyEnd = keyEnd;
  place.version = readU64(bytes, payload);
  if (!Number.isSafeInteger(place.version)) return false;
  if (isRemoval) return true;
  const flags = keyEnd === end ? HASH | EXPIRING : bytes[keyEnd]!;
  return flags <= (HASH | EXPIRING) && keyEnd + valueOffset(flags) <= end;
}

/** What an entry that `readKeyPlace` has found is of. */
export function kindOf({ bytes, at, keyEnd }: Readonly<KeyPlace>): 'string' | 'hash' | 'removal' {
  if (bytes[at] === EntryType.TOMBSTONE) return 'removal';
  return bytes[keyEnd]! & HASH ? 'hash' : 'string';
}

/** End of the entry whose header begins at `at`. */
export function entryEnd(bytes: Buffer, at: number): number {
  return at + HEADER_BYTES + bytes.readUInt32LE(at + 4);
}

/** Whether an entry that is a string has an expiry. */
export function doesExpire({ bytes, keyEnd }: Readonly<KeyPlace>): boolean {
  return (bytes[keyEnd]! & EXPIRING) !== 0;
}

/** Expiry and value of an entry that is a string. */
export function readString({ bytes, end, keyEnd }: Readonly<KeyPlace>): { value: string; expiresAt: number } {
  const flags = bytes[keyEnd]!;
  return {
    value: bytes.toString('latin1', keyEnd + valueOffset(flags), end),
    expiresAt: flags & EXPIRING ? bytes.readDoubleLE(keyEnd + 1) : NO_EXPIRY,
  };
}

/** Gives an entry in its bytes another version. */
export function writeVersion({ bytes, at }: Readonly<Pick<KeyPlace, 'bytes' | 'at'>>, version: number): void {
  writeU64(bytes, at + HEADER_BYTES, version);
}

/** The entries in bytes of a log, as `encodeKeyObject` and the others make them. */
export function* logEntries(pieces: readonly Buffer[]): Generator<LogEntry, void> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const start = at + HEADER_BYTES;
      const end = start + piece.readUInt32LE(at + 4);
      const type = piece[at] === EntryType.OBJECT ? EntryType.OBJECT : EntryType.TOMBSTONE;
      const isObject = type === EntryType.OBJECT;
      const key = start + (isObject ? OBJECT_PREFIX_BYTES : REMOVAL_PREFIX_BYTES);
      const keyEnd = isObject ? key + piece.readUInt32LE(key - 4) : end;
      const parts = [piece.subarray(start, key), piece.subarray(key, keyEnd), piece.subarray(keyEnd, end)];
      yield { type, parts: isObject ? parts : parts.slice(0, 2) };
      at = end;
    }
  }
}

/** Key, field and version, without the value; undefined for entries that are not of a key. @throws TailwindError */
export function decodeKey(type: number, payload: Uint8Array): LogKey | undefined {
  if (type !== EntryType.OBJECT && type !== EntryType.TOMBSTONE) return undefined;
  const { key: bytes, version } =
    type === EntryType.OBJECT ? decodeObject(payload) : decodeTombstone(payload);
  return splitKey(bytes, version);
}

/** The parts of a key of the log. @throws TailwindError ERR_RDMC_ENTRY_DAMAGED */
export function splitKey(bytes: Uint8Array, version: number): LogKey {
  if (bytes[0] === KEY) return { key: bytes.subarray(1), field: undefined, version };
  if (bytes[0] !== FIELD || bytes.length < FIELD_PREFIX_BYTES) {
    throw damaged(`a key of ${bytes.length} bytes, of kind ${bytes[0]}`);
  }
  const length = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).readUInt32LE(1);
  if (length > bytes.length - FIELD_PREFIX_BYTES) throw damaged(`a field of ${bytes.length} bytes`);
  const end = FIELD_PREFIX_BYTES + length;
  return { key: bytes.subarray(FIELD_PREFIX_BYTES, end), field: bytes.subarray(end), version };
}

/** One character per byte. */
export function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

function object(version: number, bytes: Buffer, keyEnd: number): LogEntry {
  const parts = encodeObject(version, bytes.subarray(0, keyEnd), bytes.subarray(keyEnd));
  return { type: EntryType.OBJECT, parts };
}

function writeObjectPrefix(bytes: Buffer, at: number, version: number, keyBytes: number): void {
  writeU64(bytes, at, version);
  bytes.writeUInt32LE(keyBytes, at + 8);
}

function writeKey(bytes: Buffer, key: string, at = 0): void {
  bytes[at] = KEY;
  writeText(bytes, at + 1, key);
}

function writeFieldKey(bytes: Buffer, key: string, field: string, at = 0): void {
  bytes[at] = FIELD;
  bytes.writeUInt32LE(key.length, at + 1);
  writeText(bytes, writeText(bytes, at + FIELD_PREFIX_BYTES, key), field);
}

/** One byte for each character. Returns the end. A call of Buffer's `write` takes longer than the bytes of a short text. */
function writeText(bytes: Buffer, at: number, text: string): number {
  const { length } = text;
  if (length > SHORT_TEXT) bytes.write(text, at, length, 'latin1');
  else for (let i = 0; i < length; i += 1) bytes[at + i] = text.charCodeAt(i);
  return at + length;
}

function writePrefix(bytes: Buffer, at: number, flags: number, expiresAt: number): void {
  if (expiresAt === NO_EXPIRY) bytes[at] = flags;
  else {
    bytes[at] = flags | EXPIRING;
    bytes.writeDoubleLE(expiresAt, at + 1);
  }
}

function prefixBytes(expiresAt: number): number {
  return expiresAt === NO_EXPIRY ? 1 : 1 + EXPIRY_BYTES;
}

/** Bytes between the key and the string, or the end of a hash's head. */
function valueOffset(flags: number): number {
  return 1 + (flags & EXPIRING ? EXPIRY_BYTES : 0) + (flags & HASH ? GENERATION_BYTES : 0);
}

function writeU64(bytes: Buffer, at: number, value: number): void {
  bytes.writeUInt32LE(value % TWO_32, at);
  bytes.writeUInt32LE(Math.floor(value / TWO_32), at + 4);
}

function readU64(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at + 4) * TWO_32 + bytes.readUInt32LE(at);
}

function damaged(what: string): TailwindError {
  return new TailwindError(
    'ERR_RDMC_ENTRY_DAMAGED',
    `An entry of the log has ${what}, which this version does not write; run the version that wrote it`,
  );
}
