import { EntryType, HEADER_BYTES, readU32 } from '../format/layout.js';
import type { DivideJob, Divider } from './scan-job.js';

/**
 * Copies the objects and tombstones of a scanned prefix, with their headers, to the part that each belongs to. The parts lie
 * one behind the other from `start` on, in the same memory: a copy within an array needs no view of each entry.
 * @returns the length of each part in bytes
 */
export function divide(
  bytes: Uint8Array,
  start: number,
  { partOfSlot, parts, byteLength }: DivideJob & { readonly byteLength: number },
  slotOf: Divider,
): number[] {
  const table = new Int16Array(partOfSlot);
  const partOf = (at: number, end: number): number => {
    const type = bytes[at]!;
    if (type !== EntryType.OBJECT && type !== EntryType.TOMBSTONE) return -1;
    const slot = slotOf(type, bytes, at + HEADER_BYTES, end);
    return slot >= 0 && slot < table.length ? table[slot]! : -1;
  };
  const partBytes = new Array<number>(parts).fill(0);
  const found: number[] = [];
  for (let at = 0; at < byteLength; ) {
    const end = at + HEADER_BYTES + readU32(bytes, at + 4);
    const part = partOf(at, end);
    found.push(part);
    if (part >= 0) partBytes[part]! += end - at;
    at = end;
  }
  const cursors: number[] = [];
  let next = start;
  for (const length of partBytes) {
    cursors.push(next);
    next += length;
  }
  let index = 0;
  for (let at = 0; at < byteLength; index += 1) {
    const end = at + HEADER_BYTES + readU32(bytes, at + 4);
    const part = found[index]!;
    if (part >= 0) {
      bytes.copyWithin(cursors[part]!, at, end);
      cursors[part]! += end - at;
    }
    at = end;
  }
  return partBytes;
}
