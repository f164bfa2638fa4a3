/**
 * The module that backups' scanning threads load: the slot of an entry of the log, so that a recovery can give each heir its
 * part. `store/record.ts` draws the entries' keys, and `@rdmc/tailwind` what is before them. Imports little: each thread loads it.
 */
import { slotOf } from './store/slot.js';

const [OBJECT, TOMBSTONE] = [2, 3] as const;
const OBJECT_PREFIX_BYTES = 12;
const TOMBSTONE_PREFIX_BYTES = 16;
const [KEY, FIELD] = [0, 1] as const;
const FIELD_PREFIX_BYTES = 1 + 4;

/**
 * @returns 0 to 16,383; −1 for entries that are not of a key
 * @throws where the entry is not one that this version writes: a recovery must not leave it out silently
 */
export default function slotOfEntry(type: number, bytes: Uint8Array, start: number, end: number): number {
  if (type !== OBJECT && type !== TOMBSTONE) return -1;
  const at = start + (type === OBJECT ? OBJECT_PREFIX_BYTES : TOMBSTONE_PREFIX_BYTES);
  const keyEnd = type === OBJECT && at <= end ? at + u32(bytes, at - 4) : end;
  const kind = bytes[at];
  if (at < keyEnd && keyEnd <= end && kind === KEY) return slotOf(bytes, at + 1, keyEnd);
  const nameStart = at + FIELD_PREFIX_BYTES;
  if (nameStart <= keyEnd && keyEnd <= end && kind === FIELD) {
    const nameEnd = nameStart + u32(bytes, at + 1);
    if (nameEnd <= keyEnd) return slotOf(bytes, nameStart, nameEnd);
  }
  throw new Error(
    `an entry of ${end - start} bytes is not one that this version of kv writes; run the version that wrote it`,
  );
}

function u32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
}
