import { crc32 } from '../format/crc32.js';

/** With 16 bits per key and 8 probes, about one absent key in 2000 is reported as present. */
const BITS_PER_KEY = 16;
const PROBES = 8;

/** A Bloom filter over the keys of a segment's objects. */
export class KeyFilter {
  readonly #words: Int32Array;
  readonly #mask: number;

  /** @param seed different for each segment, so that a false positive is not one in every segment */
  constructor(
    keys: number,
    private readonly seed: number,
  ) {
    const bits = 2 ** Math.ceil(Math.log2(Math.max(64, keys * BITS_PER_KEY)));
    this.#words = new Int32Array(bits / 32);
    this.#mask = bits - 1;
  }

  add(key: Uint8Array): void {
    for (const bit of this.#probes(key)) this.#words[bit >>> 5]! |= 1 << (bit & 31);
  }

  /** False: the key is certainly absent. */
  mayHold(key: Uint8Array): boolean {
    return this.#probes(key).every((bit) => (this.#words[bit >>> 5]! & (1 << (bit & 31))) !== 0);
  }

  #probes(key: Uint8Array): number[] {
    const first = mix(crc32(key, 0, key.length, 0) ^ this.seed);
    const step = mix(first) | 1;
    return Array.from({ length: PROBES }, (_, probe) => (first + Math.imul(probe, step)) & this.#mask);
  }
}

/** Spreads 32 bits (the finalizer of MurmurHash3). */
function mix(value: number): number {
  let hash = value ^ (value >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
