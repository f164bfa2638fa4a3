/** Pseudo-random numbers that follow from a seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** An integer of 32 bits. */
  word(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** A number from 0 to 1, excluding 1. */
  fraction(): number {
    return this.word() / 2 ** 32;
  }

  /** An integer from 0 to the limit, excluding the limit. */
  below(limit: number): number {
    return Math.floor(this.fraction() * limit);
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }

  /** At least one, and `most` at most. */
  some<T>(most: number, make: () => T): T[] {
    return Array.from({ length: 1 + this.below(most) }, make);
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }
}

/** Fills memory with bytes that follow from a seed: many of them, quickly. */
export function fillFrom(seed: number, bytes: Uint8Array): void {
  let state = seed + 1;
  for (let i = 0; i < bytes.length; i += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[i] = state >>> 16;
  }
}
