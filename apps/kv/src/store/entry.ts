import type { EntryLocation } from '@rdmc/tailwind';

/** Never expires. */
export const NO_EXPIRY = 0;

/** What a key holds, or held: a removed key stays, without a value, until its removal is acknowledged. */
export class Entry {
  /** Where it lies in the log, once it is known. */
  location: EntryLocation | undefined;
  /** Superseded: the log may forget it. */
  stale = false;

  constructor(
    /** One character per byte. Undefined: the key was removed. */
    readonly value: string | undefined,
    /** Rises with every change in the store. */
    readonly version: number,
    /** Milliseconds since 1970, or NO_EXPIRY. */
    readonly expiresAt: number,
    /** The append that carries it: acknowledged up to there, what it says may be told. */
    readonly sequence: number,
  ) {}
}
