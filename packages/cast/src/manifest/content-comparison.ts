import { createHmac } from 'node:crypto';
import { type Checksum, type FileDigest, fileDigest } from '../checksum.js';

/**
 * The digests by which contents are compared. Their key is derived from that of the cast: with GMAC, sender and
 * receiver use one nonce for two texts, which must not happen with the key of the stream.
 */
export class ContentComparison {
  readonly #checksum: Checksum;

  constructor({ kind, key }: Checksum) {
    this.#checksum = { kind, key: createHmac('sha256', key).update('rdmc cast compare').digest() };
  }

  /** The digest of the contents of entry `index`; holes are zeros. */
  digest(index: number): FileDigest {
    return fileDigest(this.#checksum, index);
  }
}
