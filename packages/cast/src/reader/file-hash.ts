import { type Checksum, type FileDigest, fileDigest } from '../checksum.js';

/**
 * The digest of the file that is read for the first time. It never goes back: bytes that are read again, for
 * survivors, are not taken again.
 */
export class FileHash {
  #digest: FileDigest | undefined;
  #entry = -1;
  #offset = 0;

  constructor(private readonly checksum: Checksum) {}

  begin(entry: number): void {
    this.#digest = fileDigest(this.checksum, entry);
    this.#entry = entry;
    this.#offset = 0;
  }

  /** Takes those of the bytes that are new. */
  update(entry: number, offset: number, bytes: Buffer): void {
    const known = this.#offset - offset;
    if (entry !== this.#entry || known >= bytes.length) return;
    this.#digest!.update(known > 0 ? bytes.subarray(known) : bytes);
    this.#offset = offset + bytes.length;
  }

  digest(): Buffer {
    return this.#digest!.digest();
  }
}
