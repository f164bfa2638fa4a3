import { DELTA_BLOCK_BYTES, MAX_DELTA_BLOCKS } from '../constants.js';
import type { BlockSet } from './block-set.js';

/*
 * Blocks of a large file that changed: of equal size, at multiples of that size. A receiver has a block if the bytes at
 * the same offset of its older file have the same hash.
 *
 * Blocks are fixed, not cut by content. Images, databases and checkpoints are changed in place, and logs grow at their
 * end: there both kinds find the same. Fixed blocks need one bit in an answer; both ends compute only hashes, no rolling
 * sum over every byte; and a receiver reads its older file forward while it writes the new one. Content-defined blocks
 * would also find bytes that an insertion has moved. Such files are mostly archives and packed data, whose bytes after
 * the change differ anyway. They are sent from the insertion on.
 *
 * The sender sends the hashes, once encoded for all receivers, and each receiver answers in bits. The other direction
 * would bring the hashes of every receiver to the sender: 256 KiB instead of 2 KiB for 1 GiB, times the receivers.
 */

/** Size of the blocks of a file of `size` bytes: a power of two. */
export function deltaBlockBytes(size: number): number {
  let bytes = DELTA_BLOCK_BYTES;
  while (Math.ceil(size / bytes) > MAX_DELTA_BLOCKS) bytes *= 2;
  return bytes;
}

/** Number of blocks of a file of `size` bytes; the last one may be shorter. */
export function deltaBlocks(size: number): number {
  return Math.ceil(size / deltaBlockBytes(size));
}

/** Bytes of some blocks of a file of `size` bytes. */
export function bytesOf(set: BlockSet, size: number): number {
  const blockBytes = deltaBlockBytes(size);
  const last = set.blocks - 1;
  const missing = last >= 0 && set.has(last) ? set.blocks * blockBytes - size : 0;
  return set.count * blockBytes - missing;
}
