import { Deferred } from '@rdmc/common';
import { ENTRY_HOLD_BYTES } from '../constants.js';
import { EntryType, type EntryTypeNumber, HEADER_BYTES } from '../format/layout.js';
import type { EntryLocation } from './entry-location.js';

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

/** Location of an append in the log. */
export interface AppendLocation {
  /** The segment that holds the entries. */
  readonly segmentId: bigint;
  /** Offsets of the entries' headers in the segment. */
  readonly offsets: readonly number[];
}

/** Whether entries of this type belong to the application: objects and tombstones. */
export function isData(type: number): boolean {
  return type === EntryType.OBJECT || type === EntryType.TOMBSTONE;
}

/** An append, from the call until it is acknowledged and flushed. */
export interface Append {
  /**
   * Location of each entry, in the order of the call. Known as soon as the append has its place in a segment, which is
   * at once unless it waits for the next segment; undefined until then.
   */
  readonly locations: readonly EntryLocation[] | undefined;
  /**
   * Resolves when every backup's device has the append and the order of the log is safe: the append survives the loss
   * of the primary and of all but one of its backups' processes. It is not on a disk yet: it survives a loss of power
   * at all backups at once only if they dump their buffers. Rejects when the outcome cannot be determined any more.
   */
  readonly acknowledged: Promise<AppendLocation>;
  /** Resolves when every backup has the append's whole segment in a file: after the segment has been closed. */
  readonly flushed: Promise<void>;
}

/** @internal */
export class PendingAppend implements Append {
  readonly payloadBytes: number;
  location: AppendLocation | undefined;
  #locations: readonly EntryLocation[] | undefined;
  readonly #acknowledged = new Deferred<AppendLocation>();
  #flushed: Deferred<void> | undefined;
  #segmentFlushed: Promise<void> | undefined;

  constructor(readonly entries: readonly LogEntry[]) {
    let bytes = 0;
    for (const { parts } of entries) for (const part of parts) bytes += part.length;
    this.payloadBytes = bytes;
  }

  /** Bytes of the entries in a segment, without the checksum that closes their group. */
  get entryBytes(): number {
    return this.payloadBytes + HEADER_BYTES * this.entries.length;
  }

  /** Estimated memory of this append while it waits: small entries take more memory than their bytes. */
  get heldBytes(): number {
    return this.entryBytes + ENTRY_HOLD_BYTES * this.entries.length;
  }

  /** Whether it has tombstones only: a full log still takes such an append. */
  get isRemoval(): boolean {
    return this.entries.every(({ type }) => type === EntryType.TOMBSTONE);
  }

  get locations(): readonly EntryLocation[] | undefined {
    if (!this.#locations && this.location) {
      const { segmentId, offsets } = this.location;
      this.#locations = offsets.map((offset) => ({ segmentId, offset }));
    }
    return this.#locations;
  }

  get acknowledged(): Promise<AppendLocation> {
    return this.#acknowledged.promise;
  }

  get flushed(): Promise<void> {
    if (this.#segmentFlushed) return this.#segmentFlushed;
    this.#flushed ??= new Deferred();
    return this.#flushed.promise;
  }

  placed(location: AppendLocation, segmentFlushed: Promise<void>): void {
    this.location = location;
    this.#segmentFlushed = segmentFlushed;
    if (this.#flushed) segmentFlushed.then(this.#flushed.resolve, this.#flushed.reject);
  }

  acknowledge(): void {
    this.#acknowledged.resolve(this.location!);
  }

  fail(error: Error): void {
    this.#acknowledged.reject(error);
    this.#flushed?.reject(error);
  }
}
