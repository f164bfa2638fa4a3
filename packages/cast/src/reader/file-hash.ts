import type { Checksum } from '../checksum.js';
import { ContentDigest } from '../content-digest.js';

/**
 * The digest of the file that is read for the first time. Bytes that are read again, for survivors, are not hashed
 * again.
 */
export class FileHash {
  #digest: ContentDigest | undefined;
  #entry = -1;
  #offset = 0;

  constructor(private readonly checksum: Checksum) {}

  begin(entry: number): void {
    this.#digest = new ContentDigest(this.checksum, entry);
    this.#entry = entry;
    this.#offset = 0;
  }

  /** Hashes those of the bytes that are new. */
  update(entry: number, offset: number, bytes: Buffer): void {
    const known = this.#known(entry, offset, bytes.length);
    if (known === undefined) return;
    this.#digest!.update(known > 0 ? bytes.subarray(known) : bytes);
    this.#offset = offset + bytes.length;
  }

  /** Hashes the part of a hole that is new. */
  hole(entry: number, offset: number, length: number): void {
    const known = this.#known(entry, offset, length);
    if (known === undefined) return;
    this.#digest!.hole(length - Math.max(known, 0));
    this.#offset = offset + length;
  }

  /** Whether these bytes are hashed already, so that they need not be read. */
  isHashed(entry: number, offset: number, length: number): boolean {
    return this.#known(entry, offset, length) === undefined;
  }

  digest(): Buffer {
    return this.#digest!.digest();
  }

  /** How many of the bytes are hashed already; undefined where all are. */
  #known(entry: number, offset: number, length: number): number | undefined {
    const known = this.#offset - offset;
    return entry !== this.#entry || known >= length ? undefined : known;
  }
}
