import { CastError, protocolError } from '../errors.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { decodePiece } from '../manifest/piece-decoder.js';
import { shown } from '../stream/paths.js';
import { HASH_BYTES, leafHash, rootHash } from './hash-tree.js';
import { digestOf } from './manifest-digest.js';
import { PieceMap } from './piece-map.js';

/** What the server offers: its entries, and the hashes of all pieces of its files. */
export class PieceList {
  readonly entries: ManifestEntry[] = [];
  readonly map = new PieceMap();
  readonly #manifest: { readonly data: string }[] = [];
  #hashParts: Buffer[] = [];
  #hashCount = 0;
  #hashes: Buffer = Buffer.alloc(0);

  /** @param hasLinks whether links are possible: a sender of a cast sends them, a server does not */
  constructor(private readonly hasLinks = false) {}

  /** A piece of the manifest. @throws CastError ERR_RDMC_CAST_PROTOCOL, ERR_RDMC_UNSAFE_PATH */
  addEntries(first: number, count: number, data: string): void {
    if (first !== this.entries.length) throw protocolError('the server skipped entries');
    this.#manifest.push({ data });
    for (const entry of decodePiece(count, data)) {
      const { kind, size } = entry;
      if (!this.hasLinks && kind !== 'file' && kind !== 'directory')
        throw protocolError(`the server sent a link: ${shown(entry.path)}`);
      if (kind === 'file') this.map.add(this.entries.length, size);
      this.entries.push(entry);
    }
  }

  /** Hashes of pieces. @throws CastError ERR_RDMC_CAST_PROTOCOL */
  addHashes(first: number, data: string): void {
    const bytes = Buffer.from(data, 'base64');
    if (first !== this.#hashCount || bytes.length % HASH_BYTES !== 0)
      throw protocolError('the server skipped hashes');
    this.#hashParts.push(bytes);
    this.#hashCount += bytes.length / HASH_BYTES;
  }

  /** The list is complete. @throws CastError ERR_RDMC_CAST_PROTOCOL, ERR_RDMC_HASH_MISMATCH */
  check(root: string): void {
    this.#hashes = Buffer.concat(this.#hashParts);
    this.#hashParts = [];
    if (this.#hashCount !== this.map.count) throw protocolError('the server skipped hashes');
    if (rootHash(digestOf(this.#manifest), this.#hashes).toString('hex') === root) return;
    const message = 'the list of entries is not that of the root hash of the server';
    throw new CastError('ERR_RDMC_HASH_MISMATCH', message);
  }

  /** Whether these bytes are those of a piece. */
  isPiece(piece: number, bytes: Buffer): boolean {
    const expected = this.#hashes.subarray(piece * HASH_BYTES, (piece + 1) * HASH_BYTES);
    return leafHash(bytes).equals(expected);
  }
}
