import { EntryType, HEADER_BYTES, readU32, type SegmentIdentity } from '../format/layout.js';
import { keyOfPayload } from '../format/payloads.js';
import { type SegmentEntry, segmentEntries } from '../format/scan.js';
import { SegmentWriter } from '../format/segment-writer.js';
import { type AppendContent, isData } from './append-content.js';
import { KeyFilter } from './key-filter.js';

/** The entries of a segment at its primary, and how many of their bytes are live as far as reported. */
export class SegmentContents {
  readonly writer: SegmentWriter;
  #liveBytes = 0;
  #keys: KeyFilter | undefined;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly identity: SegmentIdentity,
  ) {
    this.writer = new SegmentWriter(bytes, identity);
  }

  /**
   * Bytes of objects and tombstones that were not reported dead, headers included. An estimate: reports may be wrong.
   */
  get liveBytes(): number {
    return Math.max(0, this.#liveBytes);
  }

  /** Set when the cleaner has asked for every entry. */
  set liveBytes(bytes: number) {
    this.#liveBytes = bytes;
  }

  /** Places entries and returns the offsets of their headers; undefined if they do not all fit. */
  place(content: AppendContent): number[] | undefined {
    const { count, payloadBytes } = content;
    if (!this.writer.fits(payloadBytes, count)) return undefined;
    this.#liveBytes += payloadBytes + count * HEADER_BYTES;
    return content.place(this.writer);
  }

  /** Places a copy of an entry of another segment; undefined if it does not fit. */
  placeCopy(entry: SegmentEntry): number | undefined {
    if (!this.writer.fits(entry.payload.length)) return undefined;
    this.#liveBytes += entry.payload.length + HEADER_BYTES;
    return this.writer.append(entry.type as 2 | 3, entry.payload);
  }

  /** The object or tombstone with its header at this offset; undefined if there cannot be one. */
  at(offset: number): SegmentEntry | undefined {
    const end = this.writer.position;
    if (!Number.isInteger(offset) || offset < 0 || offset > end - HEADER_BYTES) return undefined;
    const type = this.bytes[offset]!;
    const length = readU32(this.bytes, offset + 4);
    if (!isData(type) || length > end - offset - HEADER_BYTES) return undefined;
    const start = offset + HEADER_BYTES;
    return { type, offset, payload: this.bytes.subarray(start, start + length) };
  }

  /** Length of an entry in bytes, header included. */
  lengthAt(offset: number): number {
    return HEADER_BYTES + readU32(this.bytes, offset + 4);
  }

  dead(offset: number): void {
    const entry = this.at(offset);
    if (entry) this.#liveBytes -= entry.payload.length + HEADER_BYTES;
  }

  /** Reverts a report: the entry is live after all. */
  alive(offset: number): void {
    this.#liveBytes += this.lengthAt(offset);
  }

  /** Filter over the keys of the objects. Created on first use, when the segment does not take appends any more. */
  get keys(): KeyFilter {
    if (!this.#keys) {
      const objects = [...this.data()].filter(({ type }) => type === EntryType.OBJECT);
      this.#keys = new KeyFilter(objects.length, Number(this.identity.segmentId & 0x7fff_ffffn));
      for (const { payload } of objects) this.#keys.add(keyOfPayload(false, payload));
    }
    return this.#keys;
  }

  /** All objects and tombstones that were placed so far. */
  *data(): Generator<SegmentEntry, void> {
    for (const entry of segmentEntries(this.bytes, this.writer.position)) if (isData(entry.type)) yield entry;
  }
}
