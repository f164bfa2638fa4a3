import { Int32List } from './int32-list.js';

const STATES_PER_CHUNK = 1024;
/** Slots for each state at least: a search for a state then looks at few slots. */
const SLOTS_PER_STATE = 2;

/** The states that a search has found, numbered in that order; all have the same length. */
export class StateTable {
  readonly #chunks: Int32Array[] = [];
  readonly #hashes = new Int32List();
  /** The number of a state + 1 at its hash, or behind it; 0: free. The length is a power of two. */
  #slots = new Int32Array(4096);

  constructor(private readonly words: number) {}

  get size(): number {
    return this.#hashes.length;
  }

  /** The number of a state; one that is new is added as a copy, with the next number. */
  numberOf(state: Int32Array): number {
    const hash = hashOf(state);
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (let found = this.#slots[slot]!; found !== 0; found = this.#slots[slot]!) {
      if (this.#hashes.at(found - 1) === hash && this.#isAt(found - 1, state)) return found - 1;
      slot = (slot + 1) & mask;
    }
    const number = this.#add(state, hash);
    this.#slots[slot] = number + 1;
    if (this.size * SLOTS_PER_STATE > this.#slots.length) this.#grow();
    return number;
  }

  /** A state, not a copy. */
  at(number: number): Int32Array {
    const start = (number % STATES_PER_CHUNK) * this.words;
    return this.#chunkOf(number).subarray(start, start + this.words);
  }

  #chunkOf(number: number): Int32Array {
    return this.#chunks[Math.floor(number / STATES_PER_CHUNK)]!;
  }

  #isAt(number: number, state: Int32Array): boolean {
    const chunk = this.#chunkOf(number);
    const start = (number % STATES_PER_CHUNK) * this.words;
    for (let i = 0; i < this.words; i += 1) if (chunk[start + i] !== state[i]) return false;
    return true;
  }

  #add(state: Int32Array, hash: number): number {
    const number = this.size;
    if (number % STATES_PER_CHUNK === 0) this.#chunks.push(new Int32Array(STATES_PER_CHUNK * this.words));
    this.#hashes.push(hash);
    this.at(number).set(state);
    return number;
  }

  #grow(): void {
    this.#slots = new Int32Array(2 * this.#slots.length);
    const mask = this.#slots.length - 1;
    for (let number = 0; number < this.size; number += 1) {
      let slot = this.#hashes.at(number) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = number + 1;
    }
  }
}

/** Each bit of each word changes about half of the bits. */
function hashOf(state: Int32Array): number {
  let hash = state.length;
  for (let i = 0; i < state.length; i += 1) {
    hash = Math.imul(hash ^ state[i]!, 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash;
}
