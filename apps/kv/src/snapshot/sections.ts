/**
 * The content of slots in a snapshot, from a server's memory to a file. All numbers are little endian.
 *
 * ```
 * page    = u32 nextSlot, u32 nextAfter, sections     where the next page begins; nextSlot 16384: this was the last one
 * section = u16 slot, u8 flags, u8 0, u32 epoch, f64 version, u32 length, records
 * record  = u8 type, u32 length, payload              an entry of the log: ../store/record.ts
 * flags     1: the first section of its slot, 2: the last one
 * epoch     of the slot table by which the server has the slot
 * version   the highest one in the server's log
 * ```
 *
 * The sections of a slot, from its first to its last, have each key once, as it was at one moment. A key that is not there did not
 * exist, in any version up to that of the last section: so removals need no records. Of two whole copies of a slot the one with the
 * higher epoch counts.
 */
import { Buffer } from 'node:buffer';
import { KvError } from '../errors.js';
import { SLOTS } from '../limits.js';

export const [FIRST, LAST] = [1, 2] as const;
export const PAGE_HEADER_BYTES = 8;
export const SECTION_HEADER_BYTES = 20;
export const RECORD_HEADER_BYTES = 5;

export interface Section {
  readonly slot: number;
  readonly flags: number;
  readonly epoch: number;
  readonly version: number;
  readonly records: Buffer;
}

/** Where a page begins: at the keys of a slot whose hashes are above a number. */
export interface Place {
  readonly slot: number;
  readonly after: number;
}

export function encodePage({ slot, after }: Place, sections: readonly Buffer[]): Buffer {
  const header = Buffer.alloc(PAGE_HEADER_BYTES);
  header.writeUInt32LE(slot, 0);
  header.writeUInt32LE(after, 4);
  return Buffer.concat([header, ...sections]);
}

export function encodeSection(head: Omit<Section, 'records'>, records: Buffer): Buffer {
  const header = Buffer.alloc(SECTION_HEADER_BYTES);
  writeSectionHeader(header, 0, { ...head, length: records.length });
  return Buffer.concat([header, records]);
}

/** @param length of the records */
export function writeSectionHeader(
  bytes: Buffer,
  at: number,
  { slot, flags, epoch, version, length }: Omit<Section, 'records'> & { readonly length: number },
): void {
  bytes.writeUInt16LE(slot, at);
  bytes[at + 2] = flags;
  bytes[at + 3] = 0;
  bytes.writeUInt32LE(epoch, at + 4);
  bytes.writeDoubleLE(version, at + 8);
  bytes.writeUInt32LE(length, at + 16);
}

export function writeRecordHeader(bytes: Buffer, at: number, type: number, length: number): void {
  bytes[at] = type;
  bytes.writeUInt32LE(length, at + 1);
}

/** The next page's place, and the sections, of a page. @throws KvError ERR_RDMC_KV_PROTOCOL */
export function decodePage(page: Buffer): { readonly next: Place; readonly sections: Buffer } {
  if (page.length < PAGE_HEADER_BYTES) throw malformed();
  const next = { slot: page.readUInt32LE(0), after: page.readUInt32LE(4) };
  const sections = page.subarray(PAGE_HEADER_BYTES);
  for (const _ of sectionsIn(sections));
  return { next, sections };
}

/** Each section, and where it begins. @throws KvError ERR_RDMC_KV_PROTOCOL */
export function* sectionsIn(bytes: Buffer): Generator<Section & { readonly offset: number }, void> {
  for (let at = 0; at < bytes.length; ) {
    if (bytes.length - at < SECTION_HEADER_BYTES) throw malformed();
    const [slot, flags] = [bytes.readUInt16LE(at), bytes[at + 2]!];
    const [epoch, version] = [bytes.readUInt32LE(at + 4), bytes.readDoubleLE(at + 8)];
    const end = at + SECTION_HEADER_BYTES + bytes.readUInt32LE(at + 16);
    if (slot >= SLOTS || end > bytes.length) throw malformed();
    yield {
      slot,
      flags,
      epoch,
      version,
      records: bytes.subarray(at + SECTION_HEADER_BYTES, end),
      offset: at,
    };
    at = end;
  }
}

/** @throws KvError ERR_RDMC_KV_PROTOCOL */
export function* recordsOf(
  records: Buffer,
): Generator<{ readonly type: number; readonly payload: Buffer }, void> {
  for (let at = 0; at < records.length; ) {
    if (records.length - at < RECORD_HEADER_BYTES) throw malformed();
    const end = at + RECORD_HEADER_BYTES + records.readUInt32LE(at + 1);
    if (end > records.length) throw malformed();
    yield { type: records[at]!, payload: records.subarray(at + RECORD_HEADER_BYTES, end) };
    at = end;
  }
}

function malformed(): KvError {
  return new KvError(
    'ERR_RDMC_KV_PROTOCOL',
    'a page of a snapshot is malformed: run the same version everywhere',
  );
}
