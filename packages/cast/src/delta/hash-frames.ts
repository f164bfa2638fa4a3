/**
 * What the frames `hashes` and `held` of the control connection contain, as base64 (see `control/frames.ts`):
 *
 *   hashes{index, first, data}   from the sender: hashes of consecutive blocks of the file `index`, from `first` on
 *
 *     byte  0            16           32
 *           +------------+------------+------
 *           | hash       | hash       | …       16 bytes for each block, 1 to MAX_FRAME_HASHES
 *           | of `first` | of the next|         (see block-hashes.ts)
 *           +------------+------------+------
 *
 *   held{index, first, data}     from the receiver: which of these blocks its older file has at the same offset
 *
 *     bit   0         1             8
 *           +---------+---------+---+---------+-----
 *           | `first` | the next| … |         | …     1: it has the block; the lowest bit of a byte first.
 *           +---------+---------+---+---------+-----   Bits after the last block of the frame are zero.
 */
import { DELTA_HASH_BYTES, FRAME_HASHED_BYTES, MAX_FRAME_HASHES } from '../constants.js';
import { protocolError } from '../errors.js';
import { BlockSet } from './block-set.js';

/** Characters of the longest `data`. */
export const MAX_HASHES_CHARACTERS = Math.ceil((MAX_FRAME_HASHES * DELTA_HASH_BYTES) / 3) * 4;

/** How many of a file's blocks the sender describes in one frame. */
export function hashesInFrame(blockBytes: number): number {
  return Math.max(1, Math.min(MAX_FRAME_HASHES, Math.floor(FRAME_HASHED_BYTES / blockBytes)));
}

export function encodeHashes(hashes: readonly Buffer[]): string {
  return Buffer.concat(hashes).toString('base64');
}

/** @throws CastError ERR_RDMC_CAST_PROTOCOL where they are not 1 to `most` hashes */
export function decodeHashes(data: string, most: number): Buffer[] {
  const bytes = Buffer.from(data, 'base64');
  const count = bytes.length / DELTA_HASH_BYTES;
  if (!Number.isInteger(count) || count < 1 || count > Math.min(most, MAX_FRAME_HASHES))
    throw protocolError(`${bytes.length} bytes are not the hashes of 1 to ${most} blocks`);
  return Array.from({ length: count }, (_, at) =>
    bytes.subarray(at * DELTA_HASH_BYTES, (at + 1) * DELTA_HASH_BYTES),
  );
}

export function encodeHeld(held: BlockSet): string {
  return Buffer.from(held.bits).toString('base64');
}

/** @throws CastError ERR_RDMC_CAST_PROTOCOL where it is not the answer for `count` blocks */
export function decodeHeld(data: string, count: number): BlockSet {
  const bits = Buffer.from(data, 'base64');
  const spare = bits.length * 8 - count;
  if (spare < 0 || spare > 7 || (spare > 0 && bits.at(-1)! >> (8 - spare) !== 0))
    throw protocolError(`${bits.length} bytes are not the answer for ${count} blocks`);
  return new BlockSet(count, bits);
}
