import { randomBytes } from 'node:crypto';

const WORD_BYTES = 4;

/**
 * HalfSipHash-1-3 of a key's bytes (J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF"; the Linux kernel's
 * `hsiphash` of 32 bits). It has a secret, so a client cannot choose many keys with one hash.
 */
export class KeyHash {
  readonly #secret: readonly [number, number];

  /** @param secret 8 bytes */
  constructor(secret: Buffer = randomBytes(8)) {
    this.#secret = [secret.readInt32LE(0), secret.readInt32LE(4)];
  }

  /** From 0 to 2^32 − 1. */
  of(bytes: Uint8Array, start: number, end: number): number {
    const [k0, k1] = this.#secret;
    let [v0, v1, v2, v3] = [k0, k1, 0x6c796765 ^ k0, 0x74656462 ^ k1];
    const length = end - start;
    const words = length >>> 2;
    // The last word has the rest and the length. Three rounds without a word follow.
    for (let index = 0; index < words + 4; index += 1) {
      const at = start + index * WORD_BYTES;
      let word = 0;
      if (index < words)
        word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
      else if (index === words) word = rest(bytes, at, end) | (length << 24);
      else if (index === words + 1) v2 ^= 0xff;
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    return (v1 ^ v3) >>> 0;
  }
}

/** At most three bytes, little endian. */
function rest(bytes: Uint8Array, start: number, end: number): number {
  let word = 0;
  for (let at = end - 1; at >= start; at -= 1) word = (word << 8) | bytes[at]!;
  return word;
}
