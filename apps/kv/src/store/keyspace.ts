import { SLOTS } from '../limits.js';
import { NO_EXPIRY } from './entry.js';
import type { KeyEntry } from './hash.js';
import type { PackedAppend } from './packed-append.js';
import { PackedKeys } from './packed-keys.js';
import type { KeyPlace } from './record.js';

/** Number of slots whose order is kept for scans. */
const ORDERED_SLOTS = 4;

const NO_KEYS: readonly [string, KeyEntry][] = [];

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

/** Keys and their entries, by hash slot, with removed keys whose removal is not acknowledged. */
export class Keyspace {
  /** The log has acknowledged all appends up to this one; an entry with a later one may still be refused. */
  acknowledged = 0;
  readonly #slots: (Map<string, KeyEntry> | undefined)[] = new Array(SLOTS).fill(undefined);
  /** Of slots without an index. */
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

  sizeOf(slot: number): number {
    return this.#live[slot]!;
  }

  /** The append that a reply with `sizeOf` waits for. Strings that are packed do not count: their slot is not served before. */
  sizedBy(slot: number): number {
    if (Number.isNaN(this.#sized[slot])) {
      let last = 0;
      for (const [, { sequence }] of this.all(slot)) last = Math.max(last, sequence);
      this.#sized[slot] = last;
    }
    return this.#sized[slot]!;
  }

  get(slot: number, key: string): KeyEntry | undefined {
    return this.#keysOf(slot)?.get(key);
  }

  /**
   * Keeps a string without an expiry in its bytes until a key of its slot is asked for. The slot must not have the key.
   * @param position of the entry in the append
   * @returns false: nothing was kept, because the slot has an index
   */
  pack(slot: number, place: Readonly<KeyPlace>, append: PackedAppend, position: number): boolean {
    if (!this.#packed.mayGrow(slot, append.origin)) this.#unpack(slot);
    if (this.#slots[slot]) return false;
    this.#packed.add(slot, place, append, position);
    append.slots.add(slot);
    this.#size += 1;
    this.#live[slot]! += 1;
    return true;
  }

  /** Makes the index of one slot that has none, in which keys are packed. Returns false when there is none. */
  unpackOne(): boolean {
    const slot = this.#packed.lowest;
    if (slot !== undefined) this.#unpack(slot);
    return slot !== undefined;
  }

  /** Returns the previous entry. */
  set(slot: number, key: string, entry: KeyEntry): KeyEntry | undefined {
    let keys = this.#keysOf(slot);
    if (!keys) {
      keys = new Map();
      this.#slots[slot] = keys;
    }
    const before = keys.get(key);
    keys.set(key, entry);
    this.#count(slot, key, before, entry);
    return before;
  }

  delete(slot: number, key: string): void {
    const keys = this.#keysOf(slot);
    const before = keys?.get(key);
    if (!keys || !before) return;
    keys.delete(key);
    this.#count(slot, key, before, undefined);
    if (keys.size === 0) this.#slots[slot] = undefined;
  }

  /** Keys that have a value. */
  *entries(slot: number): Generator<[string, KeyEntry], void> {
    for (const pair of this.all(slot)) if (pair[1].value !== undefined) yield pair;
  }

  /** Keys with those that were removed: a reply without these waits for their removal. */
  all(slot: number): Iterable<[string, KeyEntry]> {
    return this.#keysOf(slot) ?? NO_KEYS;
  }

  /**
   * The keys of a slot, as `all`, in the order of their hashes, as they were when this was last asked for with `fresh`, or anew
   * where that is forgotten. Sorting takes long, and a scan asks for the same slot again and again.
   */
  byHash(slot: number, fresh: boolean): readonly HashedKey[] {
    const known = this.#ordered.get(slot);
    if (known && !fresh) return known;
    const keys = Array.from(this.all(slot), ([key]) => ({ key, hash: hashOf(key) }));
    keys.sort((a, b) => a.hash - b.hash);
    this.#ordered.delete(slot);
    this.#ordered.set(slot, keys);
    if (this.#ordered.size > ORDERED_SLOTS) this.#ordered.delete(this.#ordered.keys().next().value!);
    return keys;
  }

  forgetOrder(slot: number): void {
    this.#ordered.delete(slot);
  }

  #keysOf(slot: number): Map<string, KeyEntry> | undefined {
    return this.#slots[slot] ?? (this.#packed.has(slot) ? this.#unpack(slot) : undefined);
  }

  #unpack(slot: number): Map<string, KeyEntry> {
    const keys = this.#packed.take(slot);
    this.#slots[slot] = keys;
    return keys;
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
