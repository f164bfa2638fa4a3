import type { LogEntry } from '@rdmc/tailwind';
import type { Entry } from './entry.js';

/** A key that a write changes. */
export interface Change {
  readonly slot: number;
  readonly key: string;
  readonly before: Entry | undefined;
  readonly after: Entry;
}

/** What the log gets in one call: all of it is there after a failure, or nothing. */
export interface Append {
  readonly sequence: number;
  readonly changes: Change[];
  readonly entries: LogEntry[];
}

/**
 * The appends that the writes of a turn become. Before a write that does not fit into the last one a new one begins, so
 * writes of different clients never make each other too large.
 */
export class TurnAppends {
  /** Bytes of all entries, as the log counts them. */
  bytes = 0;
  /** Number of the append that is being filled. */
  sequence = 1;
  #filling: Append = { sequence: 1, changes: [], entries: [] };
  #fillingBytes = 0;
  /** In order; the one that is being filled comes after them. */
  #full: Append[] = [];

  /** Number of the turn's first append. */
  get firstSequence(): number {
    return this.#full.length === 0 ? this.sequence : this.#full[0]!.sequence;
  }

  /** What is added next, so many bytes in all, is in one append of at most `most` bytes. */
  reserve(bytes: number, most: number): void {
    if (this.#fillingBytes + bytes <= most || this.#filling.changes.length === 0) return;
    this.#full.push(this.#filling);
    this.#begin();
  }

  add(change: Change, entry: LogEntry, bytes: number): void {
    this.#filling.changes.push(change);
    this.#filling.entries.push(entry);
    this.#fillingBytes += bytes;
    this.bytes += bytes;
  }

  /** The turn's appends, in order; the next one begins. */
  take(): readonly Append[] {
    if (this.#filling.changes.length === 0) return [];
    const all = this.#full;
    all.push(this.#filling);
    this.#full = [];
    this.bytes = 0;
    this.#begin();
    return all;
  }

  #begin(): void {
    this.sequence += 1;
    this.#filling = { sequence: this.sequence, changes: [], entries: [] };
    this.#fillingBytes = 0;
  }
}
