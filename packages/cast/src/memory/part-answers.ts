import { DELTA_FILE_BYTES, HEAD_FRAME_BYTES } from '../constants.js';
import { BlockSet } from '../delta/block-set.js';
import { deltaBlockBytes, deltaBlocks } from '../delta/blocks.js';
import { encodeHeld } from '../delta/hash-frames.js';
import { protocolError } from '../errors.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import type { Coverage } from './coverage.js';
import type { WantedBytes, WantedParts } from './parts.js';
import { TensorProgress } from './tensor-progress.js';

interface AskedFile {
  readonly path: Uint8Array;
  readonly size: number;
}

/** A file whose head is being sent. */
interface OpenHead {
  readonly index: number;
  readonly tensors: TensorProgress;
  offset: number;
}

/** Which blocks of large files a receiver wants, before they are sent. The sender shows it the headers of tensors. */
export class PartAnswers {
  /** Files of which only parts may be wanted, by their indices. */
  readonly #files = new Map<number, AskedFile>();
  #open: OpenHead | undefined;

  constructor(private readonly parts: WantedParts) {}

  /** Whether only parts of an entry of the manifest may be wanted; then the sender asks for them. */
  isPartly(index: number, { kind, path, size }: ManifestEntry): boolean {
    if (kind !== 'file' || size < DELTA_FILE_BYTES || this.parts.byPath(path, size) === 'all') return false;
    this.#files.set(index, { path: new Uint8Array(path), size });
    return true;
  }

  /**
   * The next bytes of the header of a file; none where it has no tensors. Returns the wanted blocks with the last ones, as bits
   * in base64.
   * @throws CastError ERR_RDMC_CAST_PROTOCOL
   */
  head(index: number, offset: number, data: string, isLast: boolean): string | undefined {
    const file = this.#files.get(index);
    if (!file)
      throw protocolError(`the head of entry ${index} came, of which the receiver has not wanted parts`);
    const wanted = this.parts.byPath(file.path, file.size) ?? this.#read(index, file, offset, data);
    if (!isLast) return undefined;
    this.#open = undefined;
    this.#files.delete(index);
    return encodeHeld(blocksOf(wanted, file.size));
  }

  /** The wanted bytes, with the last piece of the header. Of a header that is not valid, only the header. */
  #read(index: number, { size }: AskedFile, offset: number, data: string): WantedBytes {
    if (this.#open?.index !== index) this.#open = { index, tensors: new TensorProgress(size), offset: 0 };
    const head = this.#open;
    const bytes = Buffer.from(data, 'base64');
    if (offset !== head.offset || bytes.length > HEAD_FRAME_BYTES)
      throw protocolError(
        `${bytes.length} bytes of the head of entry ${index} are not those from ${head.offset}`,
      );
    head.offset += bytes.length;
    try {
      head.tensors.read(offset, bytes);
    } catch {
      // The stream brings the same header, and the file is refused then.
    }
    const { tensors = [], headBytes } = head.tensors;
    return this.parts.byTensors(headBytes, tensors);
  }
}

function blocksOf(wanted: WantedBytes, size: number): BlockSet {
  const blocks = deltaBlocks(size);
  if (wanted === 'all') return BlockSet.all(blocks);
  const set = new BlockSet(blocks);
  const blockBytes = deltaBlockBytes(size);
  for (const { begin, end } of (wanted satisfies Coverage).ranges)
    for (let block = Math.floor(begin / blockBytes); block * blockBytes < end; block += 1) set.add(block);
  return set;
}
