import type { Checksum } from '../checksum.js';
import { CHUNK_BYTES, HEAD_FRAME_BYTES, MAX_CAST_DELTA_BLOCKS } from '../constants.js';
import { BlockHashes } from '../delta/block-hashes.js';
import { BlockSet } from '../delta/block-set.js';
import { deltaBlockBytes, deltaBlocks } from '../delta/blocks.js';
import { encodeHashes, hashesInFrame } from '../delta/hash-frames.js';
import { headLength, isSafetensors, PREFIX_BYTES } from '../memory/safetensors.js';
import type { Entry, FileEntry } from './entries.js';
import { type FileIdentity, type FileSource, isSameIdentity } from './file-source.js';
import { openFile } from './open-file.js';

/** Hashes of consecutive blocks of a file, as they are sent. */
export interface HashedBlocks {
  readonly count: number;
  /** See `delta/hash-frames.ts`. */
  readonly data: string;
}

/** A piece of the header of a file with tensors. */
export interface HeadPiece {
  readonly bytes: number;
  /** As base64. */
  readonly data: string;
  readonly last: boolean;
}

/** A file whose blocks are compared, and their number. */
export interface BlockedFile {
  readonly index: number;
  readonly size: number;
  readonly blocks: number;
}

/** What a stream sends of a file; receivers have the other blocks. */
export interface SentBlocks {
  /** The file as it was hashed. If it has changed since, it is sent whole. */
  readonly identity: FileIdentity;
  readonly blockBytes: number;
  readonly sent: BlockSet;
}

/** Hashes the blocks of files of which receivers have older ones. */
export class BlockReader {
  readonly #hashes: BlockHashes;
  /** Of files that are hashed, completely or in part. */
  readonly #identities = new Map<number, FileIdentity>();
  #chunk: Buffer | undefined;
  #open: { readonly index: number; readonly file: FileSource } | undefined;

  constructor(
    private readonly entries: readonly Entry[],
    checksum: Checksum,
  ) {
    this.#hashes = new BlockHashes(checksum);
  }

  /** Those of the entries whose blocks are compared: files, as far as the limit of a cast allows. */
  files(indices: Uint32Array): BlockedFile[] {
    let left = MAX_CAST_DELTA_BLOCKS;
    return Array.from(indices).flatMap((index) => {
      const entry = this.entries[index];
      const blocks = entry?.kind === 'file' ? deltaBlocks(entry.size) : 0;
      if (blocks === 0 || blocks > left) return [];
      left -= blocks;
      return [{ index, size: (entry as FileEntry).size, blocks }];
    });
  }

  /** Hashes blocks from `first` on. Undefined where the file cannot be read, or has changed: then it is sent whole. */
  hashes(index: number, first: number): HashedBlocks | undefined {
    const entry = this.entries[index] as FileEntry;
    try {
      const hashes = this.#hash(entry, index, first);
      const isLast = hashes.length > 0 && first + hashes.length === deltaBlocks(entry.size);
      if (isLast) this.close();
      return { count: hashes.length, data: encodeHashes(hashes) };
    } catch {
      this.#identities.delete(index);
      this.close();
      return undefined;
    }
  }

  /** A piece of the header of a file. Undefined where the file cannot be read, or has changed: then it is sent whole. */
  head(index: number, offset: number): HeadPiece | undefined {
    const entry = this.entries[index] as FileEntry;
    try {
      const file = this.#source(entry, index);
      const length = isSafetensors(entry.path) ? headBytes(file, entry.size) : 0;
      const bytes = Buffer.alloc(Math.min(HEAD_FRAME_BYTES, length - offset));
      if (bytes.length > 0 && !file.read(bytes, offset)) throw new Error('it became shorter');
      const last = offset + bytes.length === length;
      if (last) this.close();
      return { bytes: bytes.length, data: bytes.toString('base64'), last };
    } catch {
      this.#identities.delete(index);
      this.close();
      return undefined;
    }
  }

  /** What is sent of files, by index. @param bits of the blocks that are sent */
  sent(bits: ReadonlyMap<number, Uint8Array>): Map<number, SentBlocks> {
    const found = new Map<number, SentBlocks>();
    for (const [index, its] of bits) {
      const identity = this.#identities.get(index);
      if (!identity) continue;
      const sent = new BlockSet(deltaBlocks(identity.size), its);
      found.set(index, { identity, blockBytes: deltaBlockBytes(identity.size), sent });
    }
    return found;
  }

  close(): void {
    this.#open?.file.close();
    this.#open = undefined;
  }

  #hash(entry: FileEntry, index: number, first: number): Buffer[] {
    const file = this.#source(entry, index);
    const blockBytes = deltaBlockBytes(entry.size);
    const hashes: Buffer[] = [];
    const hasher = this.#hashes.from(index, first, blockBytes, (_, hash) => hashes.push(hash));
    const start = first * blockBytes;
    const end = Math.min(entry.size, start + hashesInFrame(blockBytes) * blockBytes);
    this.#chunk ??= Buffer.allocUnsafe(CHUNK_BYTES);
    for (let at = start; at < end; at += CHUNK_BYTES) {
      const chunk = this.#chunk.subarray(0, Math.min(CHUNK_BYTES, end - at));
      if (!file.read(chunk, at)) throw new Error('it became shorter');
      hasher.update(chunk);
    }
    hasher.end();
    return hashes;
  }

  /** The open file, as it was listed. @throws where it has changed */
  #source(entry: FileEntry, index: number): FileSource {
    if (this.#open?.index !== index) {
      this.close();
      this.#open = { index, file: openFile(entry) };
      const { identity } = this.#open.file;
      // It may be open for the second time, for receivers that want parts of it.
      if (!isSameIdentity(this.#identities.get(index) ?? identity, identity)) throw new Error('it changed');
      this.#identities.set(index, identity);
    }
    const { file } = this.#open;
    if (file.identity.size !== entry.size) throw new Error('its size changed');
    return file;
  }
}

/** Bytes of the header of a file with tensors; of its length only, where that is not possible. */
function headBytes(file: FileSource, size: number): number {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  if (!file.read(prefix, 0)) return 0;
  try {
    return headLength(prefix, size);
  } catch {
    return PREFIX_BYTES;
  }
}
