import { createHash } from 'node:crypto';
import { type Checksum, type FileDigest, fileDigest } from './checksum.js';
import { DIGEST_BYTES } from './stream/layout.js';
import { writeUnsigned64 } from './stream/words.js';

/*
 * The digest of a file with holes covers the positions of the holes, not their zeros: a hole may be 2^53 bytes long.
 *
 *   without holes   D                                     D is the digest of all bytes
 *   with holes      'gmac'     tag of D | tag of H        D is the digest of the bytes between the holes
 *                   'sha256'   SHA-256 of D | H           H is the digest of {u64 offset, u64 length} of every hole
 *
 * Adjacent holes are one hole, however many records they came in.
 */
const HOLE_BYTES = 16;
const TAG_BYTES = DIGEST_BYTES / 2;

/** The digest of a file's contents, computed piece by piece from its start to its end. */
export class ContentDigest {
  readonly #data: FileDigest;
  #holes: FileDigest | undefined;
  #offset = 0;
  /** Length of the hole that ends at `#offset`. */
  #openHole = 0;

  constructor(
    private readonly checksum: Checksum,
    private readonly entry: number,
  ) {
    this.#data = fileDigest(checksum, entry, 'data');
  }

  update(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#closeHole();
    this.#data.update(bytes);
    this.#offset += bytes.length;
  }

  hole(length: number): void {
    this.#openHole += length;
    this.#offset += length;
  }

  /** `DIGEST_BYTES` long. May be called once. */
  digest(): Buffer {
    this.#closeHole();
    const data = this.#data.digest();
    if (!this.#holes) return data;
    const holes = this.#holes.digest();
    return this.checksum.kind === 'gmac'
      ? Buffer.concat([data.subarray(0, TAG_BYTES), holes.subarray(0, TAG_BYTES)])
      : createHash('sha256').update(data).update(holes).digest();
  }

  #closeHole(): void {
    if (this.#openHole === 0) return;
    this.#holes ??= fileDigest(this.checksum, this.entry, 'holes');
    const facts = Buffer.alloc(HOLE_BYTES);
    writeUnsigned64(facts, 0, this.#offset - this.#openHole);
    writeUnsigned64(facts, 8, this.#openHole);
    this.#holes.update(facts);
    this.#openHole = 0;
  }
}
