import * as zlib from 'node:zlib';
import { CastError, messageOf } from '../errors.js';

/** Ways to compress, the best first: 'zstd' needs Node.js 22.15 or newer; every Node.js has 'deflate'. */
export const codecs = ['zstd', 'deflate'] as const;
export type Codec = (typeof codecs)[number];

/** What both have in common. */
interface Limits {
  readonly chunkSize: number;
  readonly maxOutputLength?: number;
  readonly params?: Readonly<Record<number, number>>;
  readonly level?: number;
}
type OneCall = (bytes: Uint8Array, limits: Limits) => Buffer;

/** The part of `node:zlib` that Node.js 20 does not have, and its types do not either. */
interface Zstd {
  readonly zstdCompressSync?: OneCall;
  readonly zstdDecompressSync?: OneCall;
  readonly constants: Readonly<Record<string, number>>;
}
const zstd = zlib as unknown as Zstd;

/** Level 3 of 'zstd' is its default; level 1 of 'deflate' is faster than its default (docs/results/network.md). */
const ZSTD_LEVEL = 3;
const DEFLATE_LEVEL = 1;
/** Least size of a piece of output of `node:zlib`. */
const LEAST_CHUNK_BYTES = 64;
/** A receiver refuses frames that need a larger window: 2^21 bytes, twice the largest piece. */
const MOST_WINDOW_LOG = 21;

/** The codecs of this Node.js, the best first. */
export function codecsHere(): Codec[] {
  return codecs.filter((codec) => codec !== 'zstd' || zstd.zstdDecompressSync !== undefined);
}

/** The best codec that all have; undefined where they have none in common. */
export function commonCodec(lists: readonly (readonly string[])[]): Codec | undefined {
  return codecsHere().find((codec) => lists.every((list) => list.includes(codec)));
}

/** Compresses a piece. */
export function compress(codec: Codec, bytes: Uint8Array): Buffer {
  const chunkSize = Math.max(LEAST_CHUNK_BYTES, bytes.length);
  if (codec === 'deflate') return zlib.deflateRawSync(bytes, { chunkSize, level: DEFLATE_LEVEL });
  const params = { [zstd.constants.ZSTD_c_compressionLevel!]: ZSTD_LEVEL };
  return zstd.zstdCompressSync!(bytes, { chunkSize, params });
}

/**
 * Decompresses a piece. Its memory is limited by `length`, whatever the bytes say.
 * @param length of the result
 * @throws CastError ERR_RDMC_DECOMPRESS_FAILED where the bytes are malformed, or do not have that length
 */
export function decompress(codec: Codec, bytes: Uint8Array, length: number): Buffer {
  const limits = { chunkSize: Math.max(LEAST_CHUNK_BYTES, length + 1), maxOutputLength: length };
  let result: Buffer;
  try {
    result =
      codec === 'deflate'
        ? zlib.inflateRawSync(bytes, limits)
        : zstd.zstdDecompressSync!(bytes, {
            ...limits,
            params: { [zstd.constants.ZSTD_d_windowLogMax!]: MOST_WINDOW_LOG },
          });
  } catch (error) {
    throw failed(messageOf(error), error);
  }
  if (result.length !== length) throw failed(`it has ${result.length} bytes`);
  return result;

  function failed(why: string, cause?: unknown): CastError {
    return new CastError(
      'ERR_RDMC_DECOMPRESS_FAILED',
      `a compressed piece of a file does not become the ${length} bytes that were announced (${why}); nothing of it is stored; cast again`,
      { cause },
    );
  }
}
