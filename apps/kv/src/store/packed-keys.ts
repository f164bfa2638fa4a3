import type { Buffer } from 'node:buffer';
import { MAX_PACKED_KEYS, SLOTS } from '../limits.js';
import { resized } from './columns.js';
import type { PackedAppend } from './packed-append.js';
import { entryEnd, type KeyPlace, NO_BYTES, readKeyPlace } from './record.js';

const FIRST_CAPACITY = 1024;
const NONE = -1;

/**
 * Strings that were taken over of another log, as they lie in its bytes. The texts and entries of their keys are made when somebody
 * asks for a key of their slot: for a takeover of many keys they would be most of the work, and most of it the garbage collector's.
 *
 * ```
 * first     of each slot: its last key, or −1
 * keys      next in the slot, or −1; part of the bytes; at, the entry's header in it; append; position in the append
 * ```
 */
export class PackedKeys {
  readonly #first = new Int32Array(SLOTS).fill(NONE);
  readonly #counts = new Uint32Array(SLOTS);
  #capacity = 0;
  #next = new Int32Array(0);
  #part = new Uint32Array(0);
  #at = new Uint32Array(0);
  #append = new Uint32Array(0);
  #position = new Uint32Array(0);
  #parts: Buffer[] = [];
  #appends: PackedAppend[] = [];
  /** Keys since the arrays were empty, and those that are still packed. */
  #count = 0;
  #left = 0;
  /** No slot below has packed keys. */
  #lowest = 0;

  /** Number of keys that are packed, in all slots. */
  get size(): number {
    return this.#left;
  }

  has(slot: number): boolean {
    return this.#first[slot] !== NONE;
  }

  /**
   * Whether the keys of a slot can be packed together with further ones of this origin: those of another one may be the same
   * keys, and a command that needs one key would wait too long where they are very many.
   */
  mayGrow(slot: number, origin: symbol): boolean {
    const last = this.#first[slot]!;
    if (last === NONE) return true;
    return this.#counts[slot]! < MAX_PACKED_KEYS && this.#appends[this.#append[last]!]!.origin === origin;
  }

  /**
   * Keeps a string with no expiry. Its bytes must stay as they are.
   * @param position of the entry in the append
   */
  add(slot: number, { bytes, at }: Readonly<KeyPlace>, append: PackedAppend, position: number): void {
    if (this.#count === this.#capacity) this.#grow();
    if (this.#parts.at(-1) !== bytes) this.#parts.push(bytes);
    if (this.#appends.at(-1) !== append) this.#appends.push(append);
    const index = this.#count;
    this.#next[index] = this.#first[slot]!;
    this.#part[index] = this.#parts.length - 1;
    this.#at[index] = at;
    this.#append[index] = this.#appends.length - 1;
    this.#position[index] = position;
    this.#first[slot] = index;
    this.#counts[slot]! += 1;
    this.#count += 1;
    this.#left += 1;
    this.#lowest = Math.min(this.#lowest, slot);
  }

  /** Calls `take` with the keys of a slot, which are not packed any more. The place is the same object each time. */
  take(slot: number, take: (place: KeyPlace, append: PackedAppend, position: number) => void): void {
    const place: KeyPlace = { bytes: NO_BYTES, at: 0, end: 0, keyStart: 0, keyEnd: 0, version: 0 };
    for (let index = this.#first[slot]!; index !== NONE; index = this.#next[index]!) {
      place.bytes = this.#parts[this.#part[index]!]!;
      place.at = this.#at[index]!;
      place.end = entryEnd(place.bytes, place.at);
      readKeyPlace(place);
      take(place, this.#appends[this.#append[index]!]!, this.#position[index]!);
    }
    this.#first[slot] = NONE;
    this.#left -= this.#counts[slot]!;
    this.#counts[slot] = 0;
    if (this.#left === 0) this.#clear();
  }

  /** The lowest slot with packed keys; undefined: there is none. */
  get lowest(): number | undefined {
    if (this.#left === 0) return undefined;
    while (this.#first[this.#lowest] === NONE) this.#lowest += 1;
    return this.#lowest;
  }

  #clear(): void {
    this.#count = 0;
    this.#parts = [];
    this.#appends = [];
    this.#resize(0);
  }

  #grow(): void {
    this.#resize(Math.max(FIRST_CAPACITY, 2 * this.#capacity));
  }

  #resize(capacity: number): void {
    this.#capacity = capacity;
    this.#next = resized(this.#next, capacity);
    this.#part = resized(this.#part, capacity);
    this.#at = resized(this.#at, capacity);
    this.#append = resized(this.#append, capacity);
    this.#position = resized(this.#position, capacity);
  }
}
