import { automaticBlockSize } from '@rdmc/group';
import type { Algorithm } from '@rdmc/schedule';
import { LEAST_BLOCKS_PER_MESSAGE, LEAST_CHAIN_BLOCK_BYTES, MIN_BLOCK_BYTES } from './constants.js';

/** A stream of messages and its group. */
export interface BlockedStream {
  readonly contentBytes: number;
  readonly messageBytes: number;
  /** Members of the group, the sender included. */
  readonly members: number;
  /** The transports of blocks, as far as the sender can tell: 'shm', 'tcp'. */
  readonly transports: readonly string[];
  /** Default 'binomial-pipeline'. */
  readonly algorithm?: Algorithm | undefined;
}

/**
 * The automatic block size of a whole cast. Messages follow each other in the pipeline, so the size is chosen for the
 * bytes of all messages rather than for those of one: there are fewer blocks, and each block costs every member
 * processor time. But a message must not have only a few blocks, because each message begins with ceil(log2 n) - 1
 * redundant blocks of the root. The last member of a chain begins n - 2 blocks later, so blocks of a chain are smaller.
 */
export function streamBlockSize({
  contentBytes,
  messageBytes,
  members,
  transports,
  algorithm = 'binomial-pipeline',
}: BlockedStream): number {
  const ofStream = automaticBlockSize(contentBytes, members, transports);
  const ofSchedule =
    algorithm === 'chain' && transports.includes('tcp') ? ofChain(ofStream, members) : ofStream;
  const ofMessage = powerOfTwo(messageBytes / LEAST_BLOCKS_PER_MESSAGE, Math.floor);
  return Math.max(MIN_BLOCK_BYTES, Math.min(ofSchedule, ofMessage));
}

/** `automaticBlockSize` grows with 1 / sqrt(l - 1), where l - 1 blocks are the start-up; here they are n - 2. */
function ofChain(ofPipeline: number, members: number): number {
  const startUp = Math.max(1, Math.ceil(Math.log2(members)) - 1);
  const best = ofPipeline * Math.sqrt(startUp / Math.max(1, members - 2));
  return Math.max(LEAST_CHAIN_BLOCK_BYTES, powerOfTwo(best, Math.round));
}

function powerOfTwo(bytes: number, rounded: (exponent: number) => number): number {
  return 2 ** rounded(Math.log2(bytes));
}
