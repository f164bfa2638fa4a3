import { type BigIntStats, closeSync, constants, fstatSync, openSync } from 'node:fs';
import type { Checksum } from '../checksum.js';
import { CHUNK_BYTES, DELTA_FILE_BYTES } from '../constants.js';
import { BlockHashes } from '../delta/block-hashes.js';
import { BlockSet } from '../delta/block-set.js';
import { deltaBlockBytes, deltaBlocks } from '../delta/blocks.js';
import { decodeHashes } from '../delta/hash-frames.js';
import { protocolError } from '../errors.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { within } from './descriptor-paths.js';
import type { DirectoryTree } from './directory-tree.js';
import { isSameContent, type OlderFile, OpenOlderFile } from './open-older-file.js';

// Without O_NONBLOCK, opening a pipe that has replaced the file would wait for a writer.
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Large files of the receiver that an entry of the cast will replace. Their blocks are compared with the sender's, and
 * the new files are built from those that are equal.
 */
export class OlderFiles {
  readonly #files = new Map<number, OlderFile>();
  readonly #hashes: BlockHashes;
  #chunk: Buffer | undefined;

  constructor(
    private readonly tree: DirectoryTree,
    checksum: Checksum,
  ) {
    this.#hashes = new BlockHashes(checksum);
  }

  /** Adds a file that will be replaced. Returns false, and adds nothing, where its blocks are of no use. */
  add({ path, size }: ManifestEntry, index: number, stats: BigIntStats): boolean {
    const isUseful =
      size >= DELTA_FILE_BYTES && stats.isFile() && stats.size >= BigInt(deltaBlockBytes(size));
    if (!isUseful) return false;
    // The path is a view of a piece.
    const facts = { path: Buffer.from(path), size, blockBytes: deltaBlockBytes(size), stats };
    this.#files.set(index, { ...facts, held: new BlockSet(deltaBlocks(size)), compared: 0 });
    return true;
  }

  /**
   * Compares consecutive blocks with those of the sender, and returns the ones that the file has. A file that cannot be
   * read, or has changed since it was added, has none.
   * @param step called after each piece of work; what it throws ends the comparison
   * @throws CastError ERR_RDMC_CAST_PROTOCOL
   */
  compare(index: number, first: number, data: string, step: () => void): BlockSet {
    const file = this.#files.get(index);
    if (first !== file?.compared)
      throw protocolError(`the hashes of entry ${index} from block ${first} on were not expected`);
    const hashes = decodeHashes(data, file.held.blocks - first);
    file.compared += hashes.length;
    const found = new BlockSet(hashes.length);
    const open = this.open(index);
    if (!open) return found;
    const hasher = this.#hashes.from(index, first, file.blockBytes, (block, hash) => {
      if (!hash.equals(hashes[block - first]!)) return;
      found.add(block - first);
      file.held.add(block);
    });
    const hashBytes = (bytes: Buffer): void => {
      hasher.update(bytes);
      step();
    };
    const start = first * file.blockBytes;
    try {
      const length = Math.min(file.size - start, hashes.length * file.blockBytes);
      if (this.#readAll(open, start, length, hashBytes)) hasher.end();
    } finally {
      open.close();
    }
    return found;
  }

  /** Reads a range. Returns false where the file ends within it, or cannot be read. */
  #readAll(open: OpenOlderFile, start: number, length: number, use: (bytes: Buffer) => void): boolean {
    this.#chunk ??= Buffer.allocUnsafeSlow(CHUNK_BYTES);
    for (let done = 0; done < length; done += CHUNK_BYTES) {
      const chunk = this.#chunk.subarray(0, Math.min(CHUNK_BYTES, length - done));
      const bytes = open.read(chunk, start + done);
      use(chunk.subarray(0, bytes));
      if (bytes < chunk.length) return false;
    }
    return true;
  }

  /** The file as it was when it was added; undefined where it is not there any more. The caller closes it. */
  open(index: number): OpenOlderFile | undefined {
    const file = this.#files.get(index);
    if (!file) return undefined;
    const { path, stats } = file;
    let descriptor: number | undefined;
    try {
      const slash = path.lastIndexOf(0x2f);
      const directory = this.tree.existing(path.subarray(0, Math.max(slash, 0)));
      if (directory === undefined) return undefined;
      descriptor = openSync(within(directory, path.subarray(slash + 1)), OPEN_FLAGS);
      if (isSameContent(fstatSync(descriptor, { bigint: true }), stats))
        return new OpenOlderFile(file, descriptor);
    } catch {
      // It was replaced by something else, or cannot be read.
    }
    if (descriptor !== undefined) closeSync(descriptor);
    return undefined;
  }
}
