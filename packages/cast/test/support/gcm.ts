import { createCipheriv } from 'node:crypto';

interface GcmInput {
  readonly key: Uint8Array;
  /** 12 bytes. */
  readonly nonce: Uint8Array;
  readonly associated: Uint8Array;
  readonly plaintext: Uint8Array;
}

const BLOCK = 16;
/** The polynomial of GHASH in its bit order: 1 + x + x^2 + x^7 + x^128. */
const POLYNOMIAL = 0xe1n << 120n;

/**
 * AES-256-GCM as NIST SP 800-38D writes it, from single blocks of AES and a bitwise GHASH. Slow, and independent of the
 * implementation under test except for AES itself.
 */
export function gcm({ key, nonce, associated, plaintext }: GcmInput) {
  const block = (input: Buffer): Buffer => {
    const cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false);
    return Buffer.concat([cipher.update(input), cipher.final()]);
  };
  const counter = (number: number): Buffer => {
    const bytes = Buffer.alloc(BLOCK);
    bytes.set(nonce);
    bytes.writeUInt32BE(number, nonce.length);
    return bytes;
  };
  const ciphertext = Buffer.from(plaintext);
  for (let at = 0; at < ciphertext.length; at += BLOCK) {
    const stream = block(counter(2 + at / BLOCK));
    for (let i = at; i < Math.min(at + BLOCK, ciphertext.length); i += 1) ciphertext[i]! ^= stream[i - at]!;
  }
  const lengths = Buffer.alloc(BLOCK);
  lengths.writeBigUInt64BE(BigInt(associated.length * 8), 0);
  lengths.writeBigUInt64BE(BigInt(ciphertext.length * 8), 8);
  const hashed = Buffer.concat([padded(associated), padded(ciphertext), lengths]);
  const tag = ghash(asNumber(block(Buffer.alloc(BLOCK))), hashed) ^ asNumber(block(counter(1)));
  return { ciphertext, tag: Buffer.from(tag.toString(16).padStart(2 * BLOCK, '0'), 'hex') };
}

function padded(bytes: Uint8Array): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(-bytes.length & (BLOCK - 1))]);
}

function asNumber(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString('hex')}`);
}

function ghash(subkey: bigint, bytes: Buffer): bigint {
  let hash = 0n;
  for (let at = 0; at < bytes.length; at += BLOCK)
    hash = product(hash ^ asNumber(bytes.subarray(at, at + BLOCK)), subkey);
  return hash;
}

/** In GF(2^128); the first bit is the coefficient of x^0. */
function product(one: bigint, other: bigint): bigint {
  let result = 0n;
  let shifted = other;
  for (let bit = 127n; bit >= 0n; bit -= 1n) {
    if ((one >> bit) & 1n) result ^= shifted;
    shifted = (shifted >> 1n) ^ (shifted & 1n ? POLYNOMIAL : 0n);
  }
  return result;
}
