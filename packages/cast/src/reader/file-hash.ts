import { createHash, type Hash } from 'node:crypto';

/**
 * SHA-256 of the file that is read for the first time. It never goes back: bytes that are read again, for survivors,
 * are not hashed again.
 */
export class FileHash {
  #hash: Hash = createHash('sha256');
  #entry = -1;
  #offset = 0;

  begin(entry: number): void {
    this.#hash = createHash('sha256');
    this.#entry = entry;
    this.#offset = 0;
  }

  /** Takes those of the bytes that are new. */
  update(entry: number, offset: number, bytes: Buffer): void {
    const known = this.#offset - offset;
    if (entry !== this.#entry || known >= bytes.length) return;
    this.#hash.update(known > 0 ? bytes.subarray(known) : bytes);
    this.#offset = offset + bytes.length;
  }

  digest(): Buffer {
    return this.#hash.digest();
  }
}
