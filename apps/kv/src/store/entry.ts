import type { EntryLocation } from '@rdmc/tailwind';

/** Never expires. */
export const NO_EXPIRY = 0;

/**
 * The value of a key, or of a field of a hash. One that was removed keeps an entry without a value until its removal is
 * acknowledged.
 */
export class Entry<Value = string> {
  /** The segment of the log that holds it, once that is known. An object for the place would be one more for each key. */
  segmentId: bigint | undefined;
  /** Offset of its header in that segment. */
  offset = 0;
  /** Superseded: the log may free it. */
  stale = false;
  /** See `fallbackOf`. */
  fallback: Entry<Value> | undefined;

  constructor(
    /** A string has one character per byte. Undefined: removed. */
    readonly value: Value | undefined,
    /** Rises with every change in the store. */
    readonly version: number,
    /** Milliseconds since 1970, or NO_EXPIRY. */
    readonly expiresAt: number,
    /** Its append: replies with the entry may be sent when the log has acknowledged up to there. */
    readonly sequence: number,
  ) {}

  /** Its place in the log, once that is known. */
  get location(): EntryLocation | undefined {
    const { segmentId, offset } = this;
    return segmentId === undefined ? undefined : { segmentId, offset };
  }

  locate({ segmentId, offset }: EntryLocation): void {
    this.segmentId = segmentId;
    this.offset = offset;
  }
}
