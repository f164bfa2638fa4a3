import { type BigIntStats, closeSync, constants, fstatSync, openSync } from 'node:fs';
import type { Checksum } from '../checksum.js';
import { CHUNK_BYTES, DELTA_FILE_BYTES } from '../constants.js';
import { BlockHashes } from '../delta/block-hashes.js';
import { BlockSet } from '../delta/block-set.js';
import { bytesOf, deltaBlockBytes, deltaBlocks } from '../delta/blocks.js';
import { decodeHashes } from '../delta/hash-frames.js';
import { protocolError } from '../errors.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { OpenPart, OpenSources } from '../resume/open-sources.js';
import type { PartFile } from '../resume/part-file.js';
import { partIdentity } from '../resume/part-identity.js';
import type { FileBeginRecord } from '../stream/records.js';
import { within } from './descriptor-paths.js';
import type { ReceivingTree } from './directory-tree.js';
import { isSameContent, type OlderFile, OpenOlderFile, readFully } from './open-older-file.js';

// Without O_NONBLOCK, opening a pipe that has replaced the file would wait for a writer.
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Large files of the receiver that an entry of the cast will replace, and what interrupted casts have left of the new
 * ones. Their blocks are compared with the sender's, and the new files are built from those that are equal.
 */
export class OlderFiles {
  readonly #files = new Map<number, OlderFile>();
  readonly #hashes: BlockHashes;
  #chunk: Buffer | undefined;

  constructor(
    private readonly tree: ReceivingTree,
    checksum: Checksum,
  ) {
    this.#hashes = new BlockHashes(checksum);
  }

  /**
   * Adds a file that will be replaced, or what there is of the new one. Returns false, and adds nothing, where neither has
   * blocks that are of use.
   */
  add(
    { path, size }: ManifestEntry,
    index: number,
    found: BigIntStats | undefined,
    part?: PartFile,
  ): boolean {
    const isUseful =
      size >= DELTA_FILE_BYTES && found?.isFile() && found.size >= BigInt(deltaBlockBytes(size));
    const stats = isUseful ? found : undefined;
    if (!stats && !part) return false;
    // The path is a view of a piece.
    const facts = { path: Buffer.from(path), size, blockBytes: deltaBlockBytes(size), stats, part };
    this.#files.set(index, { ...facts, held: new BlockSet(deltaBlocks(size)), compared: 0 });
    return true;
  }

  /** What an interrupted cast has left of the file that begins; its blocks are compared. */
  part({ index, path, size, time }: FileBeginRecord): PartFile | undefined {
    const part = this.#files.get(index)?.part;
    // The sender's file may have changed since it was listed.
    if (!part?.identity.equals(partIdentity({ path, size, time }))) return undefined;
    return part;
  }

  /** The partial file is not there any more. */
  dropPart(index: number): void {
    const file = this.#files.get(index);
    if (file) file.part = undefined;
  }

  /** Bytes of partial files that are taken; before the sender has described a file, all that may be. */
  get resumedBytes(): number {
    let bytes = 0;
    for (const { part, size, compared } of this.#files.values()) {
      if (part) bytes += bytesOf(compared === 0 ? part.journaled : part.held, size);
    }
    return bytes;
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
    const end = first + hashes.length;
    const compareIn = (held: BlockSet, descriptor: number, from: number, to: number): void => {
      const hasher = this.#hashes.from(index, from, file.blockBytes, (block, hash) => {
        if (!hash.equals(hashes[block - first]!)) return;
        found.add(block - first);
        held.add(block);
      });
      const hashBytes = (bytes: Buffer): void => {
        hasher.update(bytes);
        step();
      };
      const [start, stop] = [from * file.blockBytes, Math.min(file.size, to * file.blockBytes)];
      if (this.#readAll(descriptor, start, stop - start, hashBytes)) hasher.end();
    };
    const open = this.#openOlder(file);
    try {
      if (open) compareIn(file.held, open.descriptor, first, end);
    } finally {
      open?.close();
    }
    const { part } = file;
    if (part) part.compare(first, end, (descriptor, from, to) => compareIn(part.held, descriptor, from, to));
    if (part)
      for (let block = first; block < end; block += 1) if (part.held.has(block)) found.add(block - first);
    return found;
  }

  /** Reads a range. Returns false where the file ends within it, or cannot be read. */
  #readAll(descriptor: number, start: number, length: number, use: (bytes: Buffer) => void): boolean {
    this.#chunk ??= Buffer.allocUnsafeSlow(CHUNK_BYTES);
    for (let done = 0; done < length; done += CHUNK_BYTES) {
      const chunk = this.#chunk.subarray(0, Math.min(CHUNK_BYTES, length - done));
      const bytes = readFully(descriptor, chunk, start + done);
      use(chunk.subarray(0, bytes));
      if (bytes < chunk.length) return false;
    }
    return true;
  }

  /** What there is of the file; undefined where nothing is there any more. The caller closes it. */
  open(index: number): OpenSources | undefined {
    const file = this.#files.get(index);
    if (!file) return undefined;
    const older = this.#openOlder(file);
    const descriptor = file.part?.open();
    const part = descriptor === undefined ? undefined : new OpenPart(file.part!, descriptor);
    return older || part ? new OpenSources(older, part, file.blockBytes) : undefined;
  }

  /** The older file as it was when it was added; undefined where it is not there any more. */
  #openOlder(file: OlderFile): OpenOlderFile | undefined {
    const { path, stats } = file;
    if (!stats) return undefined;
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
