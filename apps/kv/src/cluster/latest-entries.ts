import type { Buffer } from 'node:buffer';
import { randomInt } from 'node:crypto';
import type { KeyPlace } from '../store/record.js';

const FIRST_CAPACITY = 1024;
const EMPTY = -1;

/** An entry of a key in a slot. One object is used again and again: there are millions of entries. */
export interface EntryPlace extends KeyPlace {
  slot: number;
}

/** An array with room for twice as much, and the same content. */
function doubled<T extends Uint8Array | Uint16Array | Uint32Array | Float64Array>(array: T): T {
  const larger = new (array.constructor as new (length: number) => T)(2 * array.length);
  larger.set(array);
  return larger;
}

/**
 * Of every key the latest entry among those of a dead log, in the bytes of the log: numbers in arrays instead of an object and
 * strings for each entry, which would be most of the work of an heir. Of equal versions the first one counts.
 *
 * ```
 * table     positions of entries, by the hash of their key; the next free place where it is taken
 * entries   in the order in which they came:  part, at, end, keyStart, keyEnd, slot, version, hash, whether it is the latest
 * ```
 */
export class LatestEntries {
  #parts: Buffer[] = [];
  #count = 0;
  #capacity = FIRST_CAPACITY;
  #table = new Int32Array(2 * FIRST_CAPACITY).fill(EMPTY);
  #part = new Uint32Array(FIRST_CAPACITY);
  #at = new Uint32Array(FIRST_CAPACITY);
  #end = new Uint32Array(FIRST_CAPACITY);
  #keyStart = new Uint32Array(FIRST_CAPACITY);
  #keyEnd = new Uint32Array(FIRST_CAPACITY);
  #slot = new Uint16Array(FIRST_CAPACITY);
  #version = new Float64Array(FIRST_CAPACITY);
  #hash = new Uint32Array(FIRST_CAPACITY);
  #isLatest = new Uint8Array(FIRST_CAPACITY);
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
        if (this.#version[known]! >= place.version) return;
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
    place.bytes = this.#parts[this.#part[position]!]!;
    place.at = this.#at[position]!;
    place.end = this.#end[position]!;
    place.keyStart = this.#keyStart[position]!;
    place.keyEnd = this.#keyEnd[position]!;
    place.slot = this.#slot[position]!;
    place.version = this.#version[position]!;
    return true;
  }

  /** Nothing is kept any more. */
  clear(): void {
    this.#count = 0;
    this.#parts = [];
    this.#table.fill(EMPTY);
  }

  #keep({ bytes, at, end, keyStart, keyEnd, slot, version }: Readonly<EntryPlace>, hash: number): void {
    if (this.#parts.at(-1) !== bytes) this.#parts.push(bytes);
    const position = this.#count;
    this.#part[position] = this.#parts.length - 1;
    this.#at[position] = at;
    this.#end[position] = end;
    this.#keyStart[position] = keyStart;
    this.#keyEnd[position] = keyEnd;
    this.#slot[position] = slot;
    this.#version[position] = version;
    this.#hash[position] = hash;
    this.#isLatest[position] = 1;
    this.#count += 1;
  }

  #grow(): void {
    this.#capacity *= 2;
    this.#part = doubled(this.#part);
    this.#at = doubled(this.#at);
    this.#end = doubled(this.#end);
    this.#keyStart = doubled(this.#keyStart);
    this.#keyEnd = doubled(this.#keyEnd);
    this.#slot = doubled(this.#slot);
    this.#version = doubled(this.#version);
    this.#hash = doubled(this.#hash);
    this.#isLatest = doubled(this.#isLatest);
    this.#table = new Int32Array(2 * this.#capacity).fill(EMPTY);
    const mask = this.#table.length - 1;
    for (let position = 0; position < this.#count; position += 1) {
      if (this.#isLatest[position] !== 1) continue;
      let index = this.#hash[position]! & mask;
      while (this.#table[index] !== EMPTY) index = (index + 1) & mask;
      this.#table[index] = position;
    }
  }

  #hashOf({ bytes, keyStart, keyEnd }: Readonly<EntryPlace>): number {
    let hash = this.#seed;
    for (let at = keyStart; at < keyEnd; at += 1) hash = Math.imul(hash ^ bytes[at]!, this.#factor);
    // The table uses the low bits, and a product's high ones depend on all bits.
    return (hash ^ (hash >>> 15)) >>> 0;
  }

  #isSame(known: number, { bytes, keyStart, keyEnd }: Readonly<EntryPlace>): boolean {
    const start = this.#keyStart[known]!;
    if (this.#keyEnd[known]! - start !== keyEnd - keyStart) return false;
    const others = this.#parts[this.#part[known]!]!;
    for (let at = keyStart; at < keyEnd; at += 1) {
      if (bytes[at] !== others[start + at - keyStart]) return false;
    }
    return true;
  }
}
