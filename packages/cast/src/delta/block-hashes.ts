import { createHmac } from 'node:crypto';
import { blockDigest, type Checksum, type FileDigest } from '../checksum.js';
import { DELTA_HASH_BYTES } from '../constants.js';

/**
 * Hashes of blocks: the first 16 bytes of the cast's checksum. Their key is derived from that of the cast: with GMAC,
 * sender and receiver use one nonce for two texts, which must not happen with the key of the stream. Blocks that have
 * one hash and differ are found by the checksum of the whole file.
 */
export class BlockHashes {
  readonly #checksum: Checksum;

  constructor({ kind, key }: Checksum) {
    this.#checksum = { kind, key: createHmac('sha256', key).update('rdmc cast blocks').digest() };
  }

  /** Hashes the blocks of file `index` from block `first` on. */
  from(index: number, first: number, blockBytes: number, onHash: (block: number, hash: Buffer) => void) {
    return new BlockHasher((block) => blockDigest(this.#checksum, index, block), first, blockBytes, onHash);
  }
}

/** Cuts the bytes of a file into blocks, and hashes them. */
class BlockHasher {
  #digest: FileDigest | undefined;
  /** Bytes of the block so far. */
  #filled = 0;

  constructor(
    private readonly digestOf: (block: number) => FileDigest,
    private block: number,
    private readonly blockBytes: number,
    private readonly onHash: (block: number, hash: Buffer) => void,
  ) {}

  update(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const end = Math.min(bytes.length, at + this.blockBytes - this.#filled);
      this.#digest ??= this.digestOf(this.block);
      this.#digest.update(bytes.subarray(at, end));
      this.#filled += end - at;
      at = end;
      if (this.#filled === this.blockBytes) this.end();
    }
  }

  /** The last block of a file may be shorter. */
  end(): void {
    if (!this.#digest) return;
    this.onHash(this.block, this.#digest.digest().subarray(0, DELTA_HASH_BYTES));
    this.#digest = undefined;
    this.#filled = 0;
    this.block += 1;
  }
}
