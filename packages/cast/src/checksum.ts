import { createCipheriv, createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { DIGEST_BYTES } from './stream/layout.js';

/**
 * How the contents of files are checked.
 *
 * 'gmac' is AES-256-GMAC under a key of this cast alone: a tag of 128 bits that does not match damaged bytes by
 * accident, and that cannot be forged without the key. Processors compute it about as fast as they read memory, whereas
 * SHA-256 without dedicated instructions takes many times the processor time of all the rest of a cast. The key goes to
 * the receivers over their control connections, so a malicious receiver could forge the tag for receivers that it
 * forwards to. With 'sha256' it cannot: hashes of outlines, which contain the digests, go from the sender to each
 * receiver directly (`stream/outline.ts`).
 */
export const checksums = ['gmac', 'sha256'] as const;
/** How the contents of files are checked: 'gmac' or 'sha256'. */
export type ChecksumKind = (typeof checksums)[number];

export interface Checksum {
  readonly kind: ChecksumKind;
  /** 32 bytes; unused by 'sha256'. */
  readonly key: Uint8Array;
}

const KEY_BYTES = 32;
const NONCE_BYTES = 12;

/** For one cast. */
export function newChecksum(kind: ChecksumKind): Checksum {
  return { kind, key: randomBytes(KEY_BYTES) };
}

/** The digest of one file's contents, taken piece by piece. */
export interface FileDigest {
  update(bytes: Uint8Array): void;
  /** `DIGEST_BYTES` long; a shorter one is padded with zeros. May be called once. */
  digest(): Buffer;
}

/** What a digest covers: parts of a file, see `content-digest.ts`; or a message, see `message-check.ts`. */
const PARTS = { data: 0, holes: 1, message: 2 } as const;

/** `entry` is the file's index in the cast, or a message's number: with the part it is the nonce, which is used once under the cast's key. */
export function fileDigest(
  { kind, key }: Checksum,
  entry: number,
  part: keyof typeof PARTS = 'data',
): FileDigest {
  return kind === 'sha256' ? createHash('sha256') : new Gmac(keyObjectOf(key), entry, PARTS[part]);
}

/** The digest of one block of a file; the number of the block is in the nonce. */
export function blockDigest({ kind, key }: Checksum, entry: number, block: number): FileDigest {
  return kind === 'sha256' ? createHash('sha256') : new Gmac(keyObjectOf(key), entry, PARTS.data, block);
}

/** Imported keys: importing one takes as long as the digest of a small file. */
const keyObjects = new WeakMap<Uint8Array, KeyObject>();

function keyObjectOf(key: Uint8Array): KeyObject {
  let known = keyObjects.get(key);
  if (known === undefined) {
    known = createSecretKey(key);
    keyObjects.set(key, known);
  }
  return known;
}

/** GCM without plaintext: all bytes are additional authenticated data (NIST SP 800-38D). */
class Gmac implements FileDigest {
  readonly #cipher;

  constructor(key: KeyObject, entry: number, part: number, block = 0) {
    const nonce = Buffer.alloc(NONCE_BYTES);
    nonce.writeUInt32LE(entry);
    nonce.writeUInt32LE(part, 4);
    nonce.writeUInt32LE(block, 8);
    this.#cipher = createCipheriv('aes-256-gcm', key, nonce);
  }

  update(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#cipher.setAAD(bytes);
  }

  digest(): Buffer {
    this.#cipher.final();
    return Buffer.concat([this.#cipher.getAuthTag(), Buffer.alloc(DIGEST_BYTES)], DIGEST_BYTES);
  }
}
