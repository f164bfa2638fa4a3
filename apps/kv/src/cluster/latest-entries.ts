import type { Buffer } from 'node:buffer';
import { randomInt } from 'node:crypto';
import { resized } from '../store/columns.js';
import { entryEnd, type KeyPlace, NO_BYTES, readKeyPlace } from '../store/record.js';

const FIRST_CAPACITY = 1024;
const EMPTY = -1;

/** An entry of a key in a slot. One object is used again and again: there are millions of entries. */
export interface EntryPlace extends KeyPlace {
  slot: number;
}

/**
 * Of every key the latest entry among those of a dead log, in the bytes of the log: numbers in arrays instead of an object and
 * strings for each entry, which would be most of the work of an heir. Of equal versions the first one counts. Key, version and end are
 * read again where they are needed: to keep them would take as long, and 20 bytes for each entry.
 *
 * ```
 * table     positions of entries, by the hash of their key; the next free place where it is taken
 * entries   in the order in which they came:  part, at, slot, hash, whether it is the latest
 * ```
 */
export class LatestEntries {
  #parts: Buffer[] = [];
  #count = 0;
  #capacity = FIRST_CAPACITY;
  #table = new Int32Array(2 * FIRST_CAPACITY).fill(EMPTY);
  #part = new Uint32Array(FIRST_CAPACITY);
  #at = new Uint32Array(FIRST_CAPACITY);
  #slot = new Uint16Array(FIRST_CAPACITY);
  #hash = new Uint32Array(FIRST_CAPACITY);
  #isLatest = new Uint8Array(FIRST_CAPACITY);
  /** The entry that `#isSame` has looked at. */
  readonly #known: KeyPlace = { bytes: NO_BYTES, at: 0, end: 0, keyStart: 0, keyEnd: 0, version: 0 };
  /** Of each run anew, so that nobody can choose keys with equal hashes. */
  readonly #seed = randomInt(2 ** 32);
  readonly #factor = randomInt(2 ** 31) * 2 + 1;

  /** Keeps the entry, unless there is one of its key with this version or a later one. The bytes must stay as they are. */
  add(place: Readonly<EntryPlace>): void {
    const hash = this.#hashOf(place);
    const mask = this.#table.length - 1;
    let index = hash & mask;
    for (let known = this.#table[index]!; known !== EMPTY; known = this.#table[index]!) {
      if (this.#hash[known] === hash && this.#isSame(known, place)) {
        if (this.#known.version >= place.version) return;
        this.#isLatest[known] = 0;
        break;
      }
      index = (index + 1) & mask;
    }
    this.#table[index] = this.#count;
    this.#keep(place, hash);
    if (this.#count === this.#capacity) this.#grow();
  }

  /** Number of entries that were kept, with those that later ones have superseded. */
  get count(): number {
    return this.#count;
  }

  /** Sets `place` to the entry at this position, from 0 to `count`; false where a later one has superseded it. */
  read(position: number, place: EntryPlace): boolean {
    if (this.#isLatest[position] !== 1) return false;
    this.#locate(position, place);
    place.slot = this.#slot[position]!;
    return true;
  }

  /** Nothing is kept any more. */
  clear(): void {
    this.#count = 0;
    this.#parts = [];
    this.#known.bytes = NO_BYTES;
    this.#table.fill(EMPTY);
  }

  #keep({ bytes, at, slot }: Readonly<EntryPlace>, hash: number): void {
    if (this.#parts.at(-1) !== bytes) this.#parts.push(bytes);
    const position = this.#count;
    this.#part[position] = this.#parts.length - 1;
    this.#at[position] = at;
    this.#slot[position] = slot;
    this.#hash[position] = hash;
    this.#isLatest[position] = 1;
    this.#count += 1;
  }

  #grow(): void {
    this.#capacity *= 2;
    this.#part = resized(this.#part, this.#capacity);
    this.#at = resized(this.#at, this.#capacity);
    this.#slot = resized(this.#slot, this.#capacity);
    this.#hash = resized(this.#hash, this.#capacity);
    this.#isLatest = resized(this.#isLatest, this.#capacity);
    this.#table = resized(this.#table, 2 * this.#capacity).fill(EMPTY);
    const mask = this.#table.length - 1;
    for (let position = 0; position < this.#count; position += 1) {
      if (this.#isLatest[position] !== 1) continue;
      let index = this.#hash[position]! & mask;
      while (this.#table[index] !== EMPTY) index = (index + 1) & mask;
      this.#table[index] = position;
    }
  }

  #locate(position: number, place: KeyPlace): void {
    place.bytes = this.#parts[this.#part[position]!]!;
    place.at = this.#at[position]!;
    place.end = entryEnd(place.bytes, place.at);
    readKeyPlace(place);
  }

  #hashOf({ bytes, keyStart, keyEnd }: Readonly<EntryPlace>): number {
    let hash = this.#seed;
    for (let at = keyStart; at < keyEnd; at += 1) hash = Math.imul(hash ^ bytes[at]!, this.#factor);
    // The table uses the low bits, and a product's high ones depend on all bits.
    return (hash ^ (hash >>> 15)) >>> 0;
  }

  /** Whether the entry at a position has this key. Sets `#known` to it. */
  #isSame(position: number, { bytes, keyStart, keyEnd }: Readonly<EntryPlace>): boolean {
    const known = this.#known;
    this.#locate(position, known);
    if (known.keyEnd - known.keyStart !== keyEnd - keyStart) return false;
    for (let at = keyStart; at < keyEnd; at += 1) {
      if (bytes[at] !== known.bytes[known.keyStart + at - keyStart]) return false;
    }
    return true;
  }
}
