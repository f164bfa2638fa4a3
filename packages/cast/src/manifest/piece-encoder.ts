import { constants, deflateRawSync } from 'node:zlib';
import { MAX_PIECE_BYTES, MAX_PIECE_ENTRIES } from '../constants.js';
import { writeSigned64, writeUnsigned64 } from '../stream/words.js';
import { AT, ENTRY_BYTES, EntryKind, HAS_ATTRIBUTES, HAS_DIGEST } from './layout.js';
import type { ManifestEntry } from './manifest-entry.js';

/** A piece of the manifest, as it is sent. */
export interface ManifestPiece {
  /** Index of its first entry, and their number. */
  readonly first: number;
  readonly count: number;
  /** Compressed, as base64. */
  readonly data: string;
}

/** Collects the entries of one piece. */
export class PieceEncoder {
  readonly #bytes = Buffer.alloc(MAX_PIECE_BYTES);
  #at = 0;
  #count = 0;

  constructor(private readonly first: number) {}

  /** Returns false, and changes nothing, where the piece is full. */
  add(entry: ManifestEntry): boolean {
    const { path, target, digest, attributes } = entry;
    const digestAt = ENTRY_BYTES + path.length + target.length;
    const attributesAt = digestAt + (digest?.length ?? 0);
    const length = attributesAt + (attributes?.length ?? 0);
    if (this.#count === MAX_PIECE_ENTRIES || this.#at + length > this.#bytes.length) return false;
    const bytes = this.#bytes;
    const at = this.#at;
    bytes[at + AT.KIND] = EntryKind[entry.kind];
    bytes[at + AT.FLAGS] = (digest ? HAS_DIGEST : 0) | (attributes ? HAS_ATTRIBUTES : 0);
    bytes.writeUInt16LE(entry.mode, at + AT.MODE);
    bytes.writeUInt16LE(path.length, at + AT.PATH_BYTES);
    bytes.writeUInt16LE(target.length, at + AT.TARGET_BYTES);
    bytes.writeUInt32LE(entry.targetIndex, at + AT.TARGET_INDEX);
    writeUnsigned64(bytes, at + AT.SIZE, entry.size);
    writeSigned64(bytes, at + AT.SECONDS, entry.time.seconds);
    bytes.writeUInt32LE(entry.time.nanoseconds, at + AT.NANOSECONDS);
    path.copy(bytes, at + ENTRY_BYTES);
    target.copy(bytes, at + ENTRY_BYTES + path.length);
    digest?.copy(bytes, at + digestAt);
    attributes?.copy(bytes, at + attributesAt);
    this.#at += length;
    this.#count += 1;
    return true;
  }

  finish(): ManifestPiece {
    const raw = this.#bytes.subarray(0, this.#at);
    const data = deflateRawSync(raw, { level: constants.Z_BEST_SPEED }).toString('base64');
    return { first: this.first, count: this.#count, data };
  }
}
