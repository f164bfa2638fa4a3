import { automaticBlockSize } from '@rdmc/group';
import { LEAST_BLOCKS_PER_MESSAGE, MIN_BLOCK_BYTES } from './constants.js';

/**
 * The automatic block size of a whole cast. Messages follow each other in the pipeline, so the size is chosen for the
 * bytes of all messages rather than for those of one: there are fewer blocks, and each block costs every member
 * processor time. But a message must not have only a few blocks, because each message begins with ceil(log2 n) - 1
 * redundant blocks of the root.
 * @param transports the transports of blocks, as far as the sender can tell: 'shm', 'tcp'
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
