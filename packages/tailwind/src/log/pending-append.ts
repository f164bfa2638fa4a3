import { Deferred } from '@rdmc/common';
import { HEADER_BYTES } from '../format/layout.js';
import type { AppendContent } from './append-content.js';
import type { EntryLocation } from './entry-location.js';

/** Location of an append in the log. */
export interface AppendLocation {
  /** The segment that holds the entries. */
  readonly segmentId: bigint;
  /** Offsets of the entries' headers in the segment. */
  readonly offsets: readonly number[];
}

/** An append, from the call until it is acknowledged and flushed. */
export interface Append {
  /**
   * Location of each entry, in the order of the call. Known as soon as the append has its place in a segment, which is
   * at once unless it waits for the next segment; undefined until then.
   */
  readonly locations: readonly EntryLocation[] | undefined;
  /** The same without an object for each entry. */
  readonly location: AppendLocation | undefined;
  /**
   * Resolves when every backup's device has the append and the order of the log is safe: the append survives the loss
   * of the primary and of all but one of its backups' processes. It is not on a disk yet: it survives a loss of power
   * at all backups at once only if they dump their buffers. Rejects when the outcome cannot be determined any more.
   */
  readonly acknowledged: Promise<AppendLocation>;
  /** Resolves when every backup has the append's whole segment in a file: after the segment has been closed. */
  readonly flushed: Promise<void>;
  /** The error with which `acknowledged` rejects. Set at once, and so before code that awaits `acknowledged` runs. */
  readonly failure: Error | undefined;
}

/** @internal */
export class PendingAppend implements Append {
  location: AppendLocation | undefined;
  failure: Error | undefined;
  #locations: readonly EntryLocation[] | undefined;
  readonly #acknowledged = new Deferred<AppendLocation>();
  #flushed: Deferred<void> | undefined;
  #segmentFlushed: Promise<void> | undefined;

  constructor(readonly content: AppendContent) {}

  /** Bytes of the entries in a segment, without the checksum that closes their group. */
  get entryBytes(): number {
    return this.content.payloadBytes + HEADER_BYTES * this.content.count;
  }

  /** Estimated memory of this append while it waits. */
  get heldBytes(): number {
    return this.content.payloadBytes + this.content.overheadBytes;
  }

  /** Whether it has tombstones only: a full log still takes such an append. */
  get isRemoval(): boolean {
    return this.content.isRemoval;
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
    this.failure = error;
    this.#acknowledged.reject(error);
    this.#flushed?.reject(error);
  }
}
