import { ENTRY_HOLD_BYTES } from '../constants.js';
import { EntryType, type EntryTypeNumber, HEADER_BYTES, readU32 } from '../format/layout.js';
import type { SegmentWriter } from '../format/segment-writer.js';

/** One entry of an append: its payload is the concatenation of the parts. */
export interface LogEntry {
  /** The kind of entry: {@link EntryType}.OBJECT or TOMBSTONE. */
  readonly type: EntryTypeNumber;
  /**
   * The payload in parts; `encodeObject` and `encodeTombstone` make them. Do not change them before the append is
   * acknowledged.
   */
  readonly parts: readonly Uint8Array[];
}

/** Whether entries of this type belong to the application: objects and tombstones. */
export function isData(type: number): boolean {
  return type === EntryType.OBJECT || type === EntryType.TOMBSTONE;
}

/** The entries of an append. */
export interface AppendContent {
  /** Number of entries. */
  readonly count: number;
  /** Bytes of all payloads. */
  readonly payloadBytes: number;
  /** Estimated memory beside these bytes while the append waits: small entries take more memory than their bytes. */
  readonly overheadBytes: number;
  /** All entries are tombstones. */
  readonly isRemoval: boolean;
  /** There are entries, and all are objects or tombstones. */
  readonly isValid: boolean;
  /** Writes the entries, which fit, and returns the offsets of their headers. */
  place(writer: SegmentWriter): number[];
  entries(): Iterable<{ readonly type: number; readonly payload: Uint8Array }>;
}

/** Entries that the application encoded one by one. */
export class EntryList implements AppendContent {
  readonly payloadBytes: number;

  constructor(private readonly list: readonly LogEntry[]) {
    let bytes = 0;
    for (const { parts } of list) for (const part of parts) bytes += part.length;
    this.payloadBytes = bytes;
  }

  get count(): number {
    return this.list.length;
  }

  get overheadBytes(): number {
    return (HEADER_BYTES + ENTRY_HOLD_BYTES) * this.count;
  }

  get isRemoval(): boolean {
    return this.list.every(({ type }) => type === EntryType.TOMBSTONE);
  }

  get isValid(): boolean {
    return this.count > 0 && this.list.every(({ type }) => isData(type));
  }

  place(writer: SegmentWriter): number[] {
    return this.list.map(({ type, parts }) => writer.append(type as Exclude<typeof type, 9>, ...parts));
  }

  *entries(): Generator<{ type: number; payload: Uint8Array }, void> {
    for (const { type, parts } of this.list) {
      yield { type, payload: parts.length === 1 ? parts[0]! : Buffer.concat(parts) };
    }
  }
}

/**
 * Entries as another segment has them: with their headers, one behind the other. They are copied whole, without an object for each
 * of them. The log computes their checksums anew.
 */
export class EntryRun implements AppendContent {
  readonly count: number;
  readonly payloadBytes: number;
  readonly isRemoval: boolean;
  readonly isValid: boolean;

  /** @param pieces each has whole entries */
  constructor(private readonly pieces: readonly Uint8Array[]) {
    let [count, bytes, isRemoval, isValid] = [0, 0, true, true];
    for (const piece of pieces) {
      bytes += piece.length;
      let at = 0;
      while (isValid && at < piece.length) {
        const type = piece[at]!;
        isValid = isData(type) && at + HEADER_BYTES <= piece.length;
        if (type !== EntryType.TOMBSTONE) isRemoval = false;
        at += HEADER_BYTES + readU32(piece, at + 4);
        count += 1;
      }
      isValid &&= at === piece.length;
    }
    this.count = count;
    this.payloadBytes = bytes - HEADER_BYTES * count;
    this.isRemoval = isRemoval;
    this.isValid = isValid && count > 0;
  }

  get overheadBytes(): number {
    return HEADER_BYTES * this.count;
  }

  place(writer: SegmentWriter): number[] {
    const offsets: number[] = [];
    for (const piece of this.pieces) writer.appendRun(piece, offsets);
    return offsets;
  }

  *entries(): Generator<{ type: number; payload: Uint8Array }, void> {
    for (const piece of this.pieces) {
      for (let at = 0; at < piece.length; ) {
        const start = at + HEADER_BYTES;
        const end = start + readU32(piece, at + 4);
        yield { type: piece[at]!, payload: piece.subarray(start, end) };
        at = end;
      }
    }
  }
}
