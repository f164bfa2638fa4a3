import type { Buffer } from 'node:buffer';
import type { LogEntry } from '@rdmc/tailwind';
import type { Adopted } from './adopted.js';
import type { Change } from './changes.js';
import type { PackedAppend } from './packed-append.js';

/** Strings of another log, in an append. */
export interface AdoptedRun {
  /** Whole entries. */
  readonly pieces: readonly Buffer[];
  /** Position of each change's entry. */
  readonly positions: readonly number[];
  /** Of the entries without a change. */
  readonly packed: PackedAppend;
}

/** One append to the log: after a failure all of its entries are stored, or none. */
export interface Append {
  readonly sequence: number;
  readonly changes: Change[];
  readonly entries: readonly LogEntry[];
  /** Entries as another log had them; then `entries` is empty, and only some of these have changes. */
  readonly run?: AdoptedRun;
  /** The earlier appends without which it must not happen; undefined: all of them. Only appends of removals have this. */
  readonly needs?: readonly number[] | undefined;
  /** The moment at which the log got it, by `performance.now`; 0: it was acknowledged at once. */
  sentAt: number;
}

/** A place in the append that is being filled. */
export interface Mark {
  readonly changes: number;
  readonly fillingBytes: number;
  readonly bytes: number;
}

/** Writes that must be in one append do not fit into the one that is being filled. */
export class AppendOverflow extends Error {
  override readonly name = 'AppendOverflow';
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
  /** All writes from now on must be in the append that is being filled. */
  isWhole = false;
  /** Removals have appends of their own: see `Separation`. */
  isApart = false;
  /** As `Append.needs`, of the append that is being filled. */
  needs: number[] | undefined;
  /** The last append that does not need all those before it. */
  lastApart = 0;
  #changes: Change[] = [];
  #entries: LogEntry[] = [];
  #fillingBytes = 0;
  /** In order; the one that is being filled comes after them. */
  #full: Append[] = [];

  /** Number of the turn's first append. */
  get firstSequence(): number {
    return this.#full.length === 0 ? this.sequence : this.#full[0]!.sequence;
  }

  /** Number of the turn's last append that has a write; the turn must have one. */
  get lastSequence(): number {
    return this.isEmpty ? this.sequence - 1 : this.sequence;
  }

  /** Whether the append that is being filled does not have a write yet. */
  get isEmpty(): boolean {
    return this.#changes.length === 0;
  }

  /**
   * Reserves room for writes of `bytes` bytes in one append of at most `most` bytes.
   * @throws AppendOverflow where a new append would have to begin, and must not
   */
  reserve(bytes: number, most: number): void {
    if (this.#fillingBytes + bytes <= most || this.#changes.length === 0) return;
    if (this.isWhole) throw new AppendOverflow();
    this.#full.push(this.#next());
  }

  add(change: Change, entry: LogEntry, bytes: number): void {
    this.#changes.push(change);
    this.#entries.push(entry);
    this.#fillingBytes += bytes;
    this.bytes += bytes;
  }

  /** Begins a new append, unless the one that is being filled is empty. */
  advance(): void {
    if (this.#changes.length > 0) this.#full.push(this.#next());
  }

  get mark(): Mark {
    return { changes: this.#changes.length, fillingBytes: this.#fillingBytes, bytes: this.bytes };
  }

  /** Takes the writes since the mark out of the append that is being filled, and returns them. */
  takeSince({ changes, fillingBytes, bytes }: Mark): Append {
    const { sequence } = this;
    const [taken, entries] = [this.#changes.splice(changes), this.#entries.splice(changes)];
    this.#fillingBytes = fillingBytes;
    this.bytes = bytes;
    // The append is empty again: the next write sets its needs. Undefined, all earlier appends, is right where it does not.
    if (changes === 0) this.needs = undefined;
    return { sequence, changes: taken, entries, sentAt: 0 };
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

  /** The first appends of the turn, which were taken and were not sent. */
  putBack(appends: readonly Append[]): void {
    this.#full = [...appends, ...this.#full];
  }

  /** An append behind those that were taken: the one that is being filled, which must be empty, comes after it. */
  whole(adopted: Adopted): Append {
    const { changes, positions, packed } = adopted;
    const run = { pieces: adopted.takePieces(), positions, packed };
    const append = { sequence: this.sequence, changes, entries: [], run, sentAt: 0 };
    this.sequence += 1;
    return append;
  }

  /** Takes the append that was being filled; the next one begins. */
  #next(): Append {
    const { sequence, needs } = this;
    const append = { sequence, changes: this.#changes, entries: this.#entries, needs, sentAt: 0 };
    if (needs) this.lastApart = sequence;
    this.needs = undefined;
    this.sequence += 1;
    this.#changes = [];
    this.#entries = [];
    this.#fillingBytes = 0;
    return append;
  }
}
