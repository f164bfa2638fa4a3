import { automaticBlockSize } from '@rdmc/group';
import { LEAST_BLOCKS_PER_MESSAGE, MIN_BLOCK_BYTES } from './constants.js';

/**
 * The block size of a whole cast whose block size is automatic. Messages follow each other in the pipeline, so what
 * is right for all of their bytes is, and not what is right for one of them alone: blocks are fewer, and each costs
 * every member processor time. But a message must not be a few blocks, for each begins with ceil(log2 n) - 1 blocks
 * that the root sends for nothing.
 * @param transports what blocks will travel by, as far as the sender can tell: 'shm', 'tcp'
 */
export function streamBlockSize(
  contentBytes: number,
  messageBytes: number,
  members: number,
  transports: readonly string[],
): number {
  const ofStream = automaticBlockSize(contentBytes, members, transports);
  const power = 2 ** Math.floor(Math.log2(messageBytes / LEAST_BLOCKS_PER_MESSAGE));
  return Math.max(MIN_BLOCK_BYTES, Math.min(ofStream, power));
}
