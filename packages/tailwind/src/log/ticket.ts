import { Deferred } from '@rdmc/common';
import { ENTRY_HOLD_BYTES } from '../constants.js';
import { EntryType, type EntryTypeNumber, HEADER_BYTES } from '../format/layout.js';
import type { EntryLocation } from './entry-location.js';

/** One entry of an append: its payload is the parts one after the other. */
export interface LogEntry {
  readonly type: EntryTypeNumber;
  readonly parts: readonly Uint8Array[];
}

/** Where an append lies in the log. */
export interface AppendLocation {
  readonly segmentId: bigint;
  /** Of each entry's header in the segment. */
  readonly offsets: readonly number[];
}

/** Whether entries of a type are the application's: objects and tombstones. */
export function isData(type: number): boolean {
  return type === EntryType.OBJECT || type === EntryType.TOMBSTONE;
}

/** An append under way. */
export interface Append {
  /**
   * Where each entry lies, in the order of the call. Known as soon as the append has its place in a segment, which is
   * at once unless it waits for the next segment; undefined until then.
   */
  readonly locations: readonly EntryLocation[] | undefined;
  /**
   * Resolves when every backup's device has the append and the log's order is safe: it survives the loss of the
   * primary and all but one of its backups' processes. Not yet on a disk: the loss of power at all backups at once
   * is survived only where they dump their buffers. Rejects when that cannot be known any more.
   */
  readonly acknowledged: Promise<AppendLocation>;
  /** Resolves when every backup has the append's whole segment in a file: after the segment has been closed. */
  readonly flushed: Promise<void>;
}

/** @internal */
export class Ticket implements Append {
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

  /** What the entries take in a segment, without the checksum that closes their group. */
  get entryBytes(): number {
    return this.payloadBytes + HEADER_BYTES * this.entries.length;
  }

  /** What it holds of this process's memory while it waits, by estimate: small entries cost more than they carry. */
  get heldBytes(): number {
    return this.entryBytes + ENTRY_HOLD_BYTES * this.entries.length;
  }

  /** Whether it only removes: a full log still takes that. */
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
