import type { LogEntry } from '@rdmc/tailwind';
import type { Entry } from './entry.js';

/** A key that a write changes. */
export interface Change {
  readonly slot: number;
  readonly key: string;
  readonly before: Entry | undefined;
  readonly after: Entry;
}

/** One append to the log: after a failure all of its entries are stored, or none. */
export interface Append {
  readonly sequence: number;
  readonly changes: Change[];
  readonly entries: LogEntry[];
}

const NONE: readonly Append[] = [];

/**
 * The appends that the writes of a turn become. Before a write that does not fit into the last one a new one begins, so
 * writes of different clients do not count together for the limit.
 */
export class TurnAppends {
  /** Bytes of all entries, as the log counts them. */
  bytes = 0;
  /** Number of the append that is being filled. */
  sequence = 1;
  #changes: Change[] = [];
  #entries: LogEntry[] = [];
  #fillingBytes = 0;
  /** In order; the one that is being filled comes after them. */
  #full: Append[] = [];

  /** Number of the turn's first append. */
  get firstSequence(): number {
    return this.#full.length === 0 ? this.sequence : this.#full[0]!.sequence;
  }

  /** Reserves room for writes of `bytes` bytes in one append of at most `most` bytes. */
  reserve(bytes: number, most: number): void {
    if (this.#fillingBytes + bytes > most && this.#changes.length > 0) this.#full.push(this.#next());
  }

  add(change: Change, entry: LogEntry, bytes: number): void {
    this.#changes.push(change);
    this.#entries.push(entry);
    this.#fillingBytes += bytes;
    this.bytes += bytes;
  }

  /** The turn's appends, in order; the next one begins. */
  take(): readonly Append[] {
    if (this.#changes.length === 0 && this.#full.length === 0) return NONE;
    this.bytes = 0;
    if (this.#full.length === 0) return [this.#next()];
    const all = this.#full;
    // Empty where room was reserved and the write failed.
    if (this.#changes.length > 0) all.push(this.#next());
    this.#full = [];
    return all;
  }

  /** Takes the append that was being filled; the next one begins. */
  #next(): Append {
    const append = { sequence: this.sequence, changes: this.#changes, entries: this.#entries };
    this.sequence += 1;
    this.#changes = [];
    this.#entries = [];
    this.#fillingBytes = 0;
    return append;
  }
}
