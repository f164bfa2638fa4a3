import { Buffer } from 'node:buffer';
import type { LogEntry } from '@rdmc/tailwind';
import { recordHeader } from '../cluster/peer-frames.js';
import type { Hash, KeyEntry } from '../store/hash.js';
import { encodeField, encodeHead, encodeKeyObject, latin1, logEntries, splitKey } from '../store/record.js';
import type { AppendFollower } from '../store/sent-appends.js';
import { slotOf } from '../store/slot.js';
import type { Store } from '../store/store.js';
import type { Append } from '../store/turn-appends.js';

/** Where the key of the log is in the parts of an entry, of objects and of removals. */
const KEY_PART = 1;

/**
 * The entries that make another server's keys of some slots equal to those here: first each key as it is, from then on each change
 * of it. Only what the log has acknowledged is in it, in the order of the acknowledgements. So at each of its points the other
 * server has a state that was acknowledged here, of the keys so far.
 *
 * A field that is not acknowledged when its hash is copied follows as a change. A key that is not acknowledged is copied when it is.
 */
export class SlotCopy implements AppendFollower {
  readonly #slots: ReadonlySet<number>;
  /** Keys that the other server has: their changes follow. */
  readonly #copied = new Set<string>();
  /** Keys to copy when they are acknowledged, with their slots. */
  readonly #waiting = new Map<string, number>();
  readonly #steps: Iterator<void>;
  #isThrough = false;
  #parts: Uint8Array[] = [];
  #bytes = 0;

  constructor(
    private readonly store: Store,
    slots: readonly number[],
  ) {
    this.#slots = new Set(slots);
    this.#steps = this.#all();
  }

  /** Whether each key was copied, or waits for its acknowledgement. */
  get isThrough(): boolean {
    return this.#isThrough;
  }

  /** Bytes that were not taken. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Copies keys until so many bytes can be taken, or each key had its turn, or that has taken so long. */
  fill(bytes: number, milliseconds = Number.POSITIVE_INFINITY): void {
    const end = performance.now() + milliseconds;
    while (!this.#isThrough && this.#bytes < bytes) {
      this.#isThrough = this.#steps.next().done === true;
      if (performance.now() >= end) break;
    }
    if (this.#isThrough) this.#copyWaiting();
  }

  /** What is to be sent next, in order. */
  take(): Buffer {
    const bytes = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    return bytes;
  }

  settled(append: Append): void {
    for (const entry of entriesOf(append)) {
      const { key, slot } = keyOf(entry);
      if (!this.#slots.has(slot)) continue;
      if (this.#copied.has(key)) this.#add(entry);
      else this.#waiting.set(key, slot);
    }
  }

  /** The keys are as they were before. What was left out of a hash because it was not acknowledged must follow. */
  undone(append: Append): void {
    for (const entry of entriesOf(append)) {
      const { key, slot } = keyOf(entry);
      if (this.#slots.has(slot)) this.#waiting.set(key, slot);
    }
  }

  *#all(): Generator<void, void> {
    for (const slot of this.#slots) {
      for (const key of this.store.keyspace.keys(slot)) {
        if (!this.#copied.has(key)) yield* this.#copy(slot, key);
      }
    }
  }

  #copyWaiting(): void {
    // Those that must wait longer are added again.
    for (const [key, slot] of [...this.#waiting]) {
      for (const _ of this.#copy(slot, key));
    }
  }

  /** Yields after each entry. */
  *#copy(slot: number, key: string): Generator<void, void> {
    const { keyspace } = this.store;
    const entry = keyspace.get(slot, key);
    this.#waiting.delete(key);
    if (!entry) return;
    if (entry.sequence > keyspace.acknowledged || entry.value === undefined) {
      this.#waiting.set(key, slot);
      return;
    }
    const { version, value, expiresAt } = entry;
    if (typeof value === 'string') {
      this.#copied.add(key);
      this.#add(encodeKeyObject({ key, version, value, expiresAt }));
      yield;
    } else yield* this.#copyHash(slot, key, entry, value);
  }

  /** Changes of the hash between two steps follow: those of fields that come later are in these fields, too. */
  *#copyHash(slot: number, key: string, head: KeyEntry, hash: Hash): Generator<void, void> {
    const { keyspace } = this.store;
    const { version, expiresAt } = head;
    const isAcknowledged = ({ sequence }: { sequence: number }): boolean => sequence <= keyspace.acknowledged;
    // A hash without fields would not be one at the other server.
    if (!some(hash.entries(), ([, entry]) => isAcknowledged(entry))) {
      this.#waiting.set(key, slot);
      return;
    }
    this.#copied.add(key);
    this.#add(encodeHead({ key, version, value: hash.generation, expiresAt }));
    for (const [field, entry] of hash.entries()) {
      yield;
      if (keyspace.get(slot, key)?.value !== hash) return;
      const present = hash.get(field);
      if (present === entry && isAcknowledged(entry)) {
        this.#add(encodeField(key, field, entry.version, entry.value));
      }
    }
  }

  #add({ type, parts }: LogEntry): void {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const header = recordHeader(type, length);
    this.#parts.push(header, ...parts);
    this.#bytes += header.length + length;
  }
}

function entriesOf({ entries, run }: Append): Iterable<LogEntry> {
  return run ? logEntries(run.pieces) : entries;
}

function keyOf({ parts }: LogEntry): { key: string; slot: number } {
  const { key } = splitKey(parts[KEY_PART]!, 0);
  return { key: latin1(key), slot: slotOf(key, 0, key.length) };
}

function some<T>(items: Iterable<T>, which: (item: T) => boolean): boolean {
  for (const item of items) if (which(item)) return true;
  return false;
}
