import type { EntryLocation } from '@rdmc/tailwind';
import { MAX_INDEXED_BYTES, SLOTS } from '../limits.js';
import { Entry, NO_EXPIRY } from './entry.js';
import { restores, settles, supersedes } from './fallback.js';
import type { KeyEntry } from './hash.js';
import { EARLIER, LogIndex } from './log-index.js';
import type { LogWithMemory } from './log-memory.js';
import type { PackedAppend } from './packed-append.js';
import { PackedKeys } from './packed-keys.js';
import { type KeyPlace, objectBytes, readString } from './record.js';

/** Number of slots whose order is kept for scans. */
const ORDERED_SLOTS = 4;

/** Keyspaces without a log have all keys in the heap. */
const noLog = (): LogWithMemory => ({ memory: () => undefined, ended: new AbortController().signal });

export interface HashedKey {
  readonly key: string;
  /** From 1 to 2^32 − 1. */
  readonly hash: number;
}

/** FNV-1a. 0 stands for the beginning. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return hash >>> 0 || 1;
}

/**
 * Keys and their entries, by hash slot, with removed keys whose removal is not acknowledged.
 *
 * A key is in one of three places: in a `Map` of its slot; in `LogIndex`, when its write is acknowledged and the log has it in
 * memory; or in `PackedKeys`, after a takeover, until a key of its slot is asked for. Nobody outside sees a difference.
 */
export class Keyspace {
  /** The log has acknowledged all appends up to this one; an entry with a later one may still be refused. */
  acknowledged = 0;
  readonly #slots: (Map<string, KeyEntry> | undefined)[] = new Array(SLOTS).fill(undefined);
  #index = new LogIndex(noLog());
  /** Of slots that have no key elsewhere. */
  readonly #packed = new PackedKeys();
  readonly #live = new Int32Array(SLOTS);
  /** The append that last changed the number of keys of each slot; NaN: such a change was undone, so an earlier one was the last. */
  readonly #sized = new Float64Array(SLOTS);
  /** Keys with an expiry, of all slots, in the order in which the expiry was set. */
  readonly expiring = new Map<string, number>();
  /** Keys whose removal is not acknowledged, with their slots. */
  readonly removed = new Map<string, number>();
  readonly #ordered = new Map<number, readonly HashedKey[]>();
  #size = 0;

  /** Number of keys with a value, with expired ones until they are found. */
  get size(): number {
    return this.#size;
  }

  /** Number of keys that have no entry yet, because nobody has asked for a key of their slot. */
  get packed(): number {
    return this.#packed.size;
  }

  /** Number of keys whose entries are read from the log. */
  get indexed(): number {
    return this.#index.size;
  }

  /** Memory of the places of these entries, which is not in the heap. */
  get indexBytes(): number {
    return this.#index.bytes;
  }

  /** The log that has the writes of all keys. There must be no key yet. */
  readFrom(log: LogWithMemory): void {
    this.#index = new LogIndex(log);
  }

  sizeOf(slot: number): number {
    return this.#live[slot]!;
  }

  /** The append that a reply with `sizeOf` waits for. Strings that are packed do not count: their slot is not served before. */
  sizedBy(slot: number): number {
    if (Number.isNaN(this.#sized[slot])) {
      let last = 0;
      // All others are acknowledged.
      for (const [, { sequence }] of this.inHeap(slot)) last = Math.max(last, sequence);
      this.#sized[slot] = last;
    }
    return this.#sized[slot]!;
  }

  /**
   * The entry of a key. One of an acknowledged string may be another object with each call.
   * @throws KvError ERR_RDMC_KV_SLOT_UNAVAILABLE: the log has ended, and with it the memory of such a string. So do all methods
   *   that look at keys
   */
  get(slot: number, key: string): KeyEntry | undefined {
    this.#unpack(slot);
    return this.#slots[slot]?.get(key) ?? this.#index.get(slot, key);
  }

  /** The same for callers that do not need the text: a string may be an empty one. */
  peek(slot: number, key: string): KeyEntry | undefined {
    this.#unpack(slot);
    return this.#slots[slot]?.get(key) ?? this.#index.peek(slot, key);
  }

  /**
   * Keeps a string without an expiry in its bytes until a key of its slot is asked for. The slot must not have the key.
   * @param position of the entry in the append
   * @returns false: nothing was kept, because the slot has keys elsewhere
   */
  pack(slot: number, place: Readonly<KeyPlace>, append: PackedAppend, position: number): boolean {
    if (!this.#packed.mayGrow(slot, append.origin)) this.#unpack(slot);
    if (this.#slots[slot]?.size || this.#index.has(slot)) return false;
    this.#packed.add(slot, place, append, position);
    append.slots.add(slot);
    this.#size += 1;
    this.#live[slot]! += 1;
    return true;
  }

  /** Unpacks one slot in which keys are packed. Returns false when there is none. */
  unpackOne(): boolean {
    const slot = this.#packed.lowest;
    if (slot !== undefined) this.#unpack(slot);
    return slot !== undefined;
  }

  /** Returns the previous entry, with a text as that of `peek`. */
  set(slot: number, key: string, entry: KeyEntry): KeyEntry | undefined {
    const before = this.#replace(slot, key, entry);
    supersedes(entry, before, this.acknowledged);
    return before;
  }

  /** The same where the key has no entry any more. */
  delete(slot: number, key: string): KeyEntry | undefined {
    this.#unpack(slot);
    const before = this.#takeFromHeap(slot, key) ?? this.#index.take(slot, key);
    if (before) this.#count(slot, key, before, undefined);
    return before;
  }

  /** A write is undone: the entry that `set` has returned, or none, is the key's again. */
  restore(slot: number, key: string, before: KeyEntry | undefined): void {
    if (!before) {
      this.delete(slot, key);
      return;
    }
    if (before.sequence !== EARLIER) {
      const undone = this.#replace(slot, key, before);
      restores(before, undone, this.acknowledged);
      if (before.sequence <= this.acknowledged) this.#toIndex(slot, key, before);
      return;
    }
    const undone = this.#takeFromHeap(slot, key);
    // The place is lost only where the log has ended: then the index is not asked any more.
    this.#index.add(slot, key, before.location!);
    this.#count(slot, key, undone, before);
  }

  /**
   * The write of an entry is acknowledged, and its place in the log is right. That of a removal is not needed any more; where the log
   * has a string in memory it is read from there from now on.
   */
  settle(slot: number, key: string, entry: KeyEntry): void {
    const current = this.#slots[slot]?.get(key);
    settles(entry, current, this.acknowledged);
    if (current !== entry) return;
    if (entry.value === undefined) this.delete(slot, key);
    else this.#toIndex(slot, key, entry);
  }

  /** The log has moved the entry of a key; `entry` is what `peek` has returned for it. */
  moved(slot: number, key: string, entry: KeyEntry, to: EntryLocation): void {
    if (this.#slots[slot]?.get(key) !== entry) {
      this.#index.move(slot, key, to);
      return;
    }
    entry.locate(to);
  }

  /** Entries that are in the heap, with those of all writes that are not acknowledged. */
  *inHeap(slot: number): Generator<[string, KeyEntry], void> {
    this.#unpack(slot);
    yield* this.#slots[slot] ?? [];
  }

  /**
   * Keys that have a value, with their entries as they were a moment before. Where others are written meanwhile, between two steps,
   * these may come twice, or not at all.
   */
  *entries(slot: number): Generator<[string, KeyEntry], void> {
    for (const pair of this.inHeap(slot)) if (pair[1].value !== undefined) yield pair;
    yield* this.#index.entries(slot);
  }

  /** The same without the entries. */
  *keys(slot: number): Generator<string, void> {
    for (const [key, { value }] of this.inHeap(slot)) if (value !== undefined) yield key;
    yield* this.#index.keys(slot);
  }

  /** The same with keys that were removed: a reply without these waits for their removal. */
  *allKeys(slot: number): Generator<string, void> {
    this.#unpack(slot);
    yield* this.#slots[slot]?.keys() ?? [];
    yield* this.#index.keys(slot);
  }

  /**
   * The keys of a slot, as `allKeys`, in the order of their hashes, as they were when this was last asked for with `fresh`, or anew
   * where that is forgotten. Sorting takes long, and a scan asks for the same slot again and again.
   */
  byHash(slot: number, fresh: boolean): readonly HashedKey[] {
    const known = this.#ordered.get(slot);
    if (known && !fresh) return known;
    const keys = Array.from(this.allKeys(slot), (key) => ({ key, hash: hashOf(key) }));
    keys.sort((a, b) => a.hash - b.hash);
    this.#ordered.delete(slot);
    this.#ordered.set(slot, keys);
    if (this.#ordered.size > ORDERED_SLOTS) this.#ordered.delete(this.#ordered.keys().next().value!);
    return keys;
  }

  forgetOrder(slot: number): void {
    this.#ordered.delete(slot);
  }

  /** The entry of a key, which is in the heap, goes to the index if the log has it in memory. */
  #toIndex(slot: number, key: string, { value, expiresAt, location }: KeyEntry): void {
    if (typeof value !== 'string' || expiresAt !== NO_EXPIRY || !location) return;
    if (objectBytes(key.length, value.length, NO_EXPIRY) > MAX_INDEXED_BYTES) return;
    if (this.#index.add(slot, key, location)) this.#slots[slot]!.delete(key);
  }

  /** Returns the previous entry, as `set`. */
  #replace(slot: number, key: string, entry: KeyEntry): KeyEntry | undefined {
    this.#unpack(slot);
    const keys = this.#mapOf(slot);
    const before = keys.get(key) ?? this.#index.take(slot, key);
    keys.set(key, entry);
    this.#count(slot, key, before, entry);
    return before;
  }

  #takeFromHeap(slot: number, key: string): KeyEntry | undefined {
    const keys = this.#slots[slot];
    const entry = keys?.get(key);
    if (entry) keys!.delete(key);
    return entry;
  }

  #mapOf(slot: number): Map<string, KeyEntry> {
    let keys = this.#slots[slot];
    if (!keys) {
      keys = new Map();
      this.#slots[slot] = keys;
    }
    return keys;
  }

  /** The keys of a slot are not packed any more. */
  #unpack(slot: number): void {
    if (!this.#packed.has(slot)) return;
    this.#packed.take(slot, (place, append, position) => {
      const location = append.sequence <= this.acknowledged ? append.placeOf(position) : undefined;
      if (location && this.#index.addPlace(slot, place, location)) return;
      const { value, expiresAt } = readString(place);
      const entry: KeyEntry = new Entry(value, place.version, expiresAt, append.sequence);
      const key = place.bytes.toString('latin1', place.keyStart, place.keyEnd);
      append.made({ slot, key, entry, position });
      this.#mapOf(slot).set(key, entry);
    });
  }

  #count(slot: number, key: string, before: KeyEntry | undefined, after: KeyEntry | undefined): void {
    const change = Number(after?.value !== undefined) - Number(before?.value !== undefined);
    this.#size += change;
    this.#live[slot]! += change;
    // Also of a change that left the number: where others were undone it counted as the last one.
    const isUndone = before !== undefined && before.sequence > this.acknowledged && isBefore(after, before);
    if (isUndone || (change !== 0 && !after)) this.#sized[slot] = Number.NaN;
    else if (change !== 0) this.#sized[slot] = after!.sequence;
    if (after && after.value === undefined) this.removed.set(key, slot);
    else if (before && before.value === undefined) this.removed.delete(key);
    const expires = after?.value !== undefined && after.expiresAt !== NO_EXPIRY;
    if (expires) this.expiring.set(key, slot);
    else if (before && before.expiresAt !== NO_EXPIRY) this.expiring.delete(key);
  }
}

/** Whether this was the entry of the key before. Versions tell that: both may be of one append. */
function isBefore(after: KeyEntry | undefined, before: KeyEntry): boolean {
  return !after || after.version < before.version;
}
