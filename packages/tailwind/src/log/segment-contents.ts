import { EntryType, HEADER_BYTES, readU32, type SegmentIdentity } from '../format/layout.js';
import { keyOfPayload } from '../format/payloads.js';
import { type SegmentEntry, segmentEntries } from '../format/scan.js';
import { SegmentWriter } from '../format/segment-writer.js';
import { KeyFilter } from './key-filter.js';
import { isData, type LogEntry } from './ticket.js';

/** What lies in a segment at its primary, and how much of it is live as far as anybody said. */
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

  /** Bytes of objects and tombstones that nobody called dead, headers included. An estimate: callers may be wrong. */
  get liveBytes(): number {
    return Math.max(0, this.#liveBytes);
  }

  /** The cleaner has asked for every entry. */
  set liveBytes(bytes: number) {
    this.#liveBytes = bytes;
  }

  /** Where each entry's header lies; undefined when they do not fit together. */
  place(entries: readonly LogEntry[], payloadBytes: number): number[] | undefined {
    if (!this.writer.fits(payloadBytes, entries.length)) return undefined;
    this.#liveBytes += payloadBytes + entries.length * HEADER_BYTES;
    return entries.map(({ type, parts }) => this.writer.append(type as Exclude<typeof type, 9>, ...parts));
  }

  /** A copy of an entry of another segment; undefined when it does not fit. */
  placeCopy(entry: SegmentEntry): number | undefined {
    if (!this.writer.fits(entry.payload.length)) return undefined;
    this.#liveBytes += entry.payload.length + HEADER_BYTES;
    return this.writer.append(entry.type as 2 | 3, entry.payload);
  }

  /** The object or tombstone whose header lies there; undefined where there can be none. */
  at(offset: number): SegmentEntry | undefined {
    const end = this.writer.position;
    if (!Number.isInteger(offset) || offset < 0 || offset > end - HEADER_BYTES) return undefined;
    const type = this.bytes[offset]!;
    const length = readU32(this.bytes, offset + 4);
    if (!isData(type) || length > end - offset - HEADER_BYTES) return undefined;
    const start = offset + HEADER_BYTES;
    return { type, offset, payload: this.bytes.subarray(start, start + length) };
  }

  /** How many bytes an entry takes, header included. */
  lengthAt(offset: number): number {
    return HEADER_BYTES + readU32(this.bytes, offset + 4);
  }

  dead(offset: number): void {
    const entry = this.at(offset);
    if (entry) this.#liveBytes -= entry.payload.length + HEADER_BYTES;
  }

  /** It was said to be dead, and is live. */
  undead(offset: number): void {
    this.#liveBytes += this.lengthAt(offset);
  }

  /** The keys of its objects; made when first asked for, of a segment that takes no more appends. */
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
