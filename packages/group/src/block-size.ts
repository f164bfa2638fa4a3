import { KIB, MIB } from './constants.js';

/**
 * The automatic block size, chosen by the root for each message.
 *
 * Small blocks fill the pipeline soon: it takes ceil(log2 n) steps before everybody works, and the root sends that
 * many blocks, less one, for nothing. Large blocks cost less per byte: each has a completion, a wake-up and a part
 * of an announcement on two sides. So: about `blocksPerStep` blocks for each step of the start-up, in powers of
 * two, within limits; a message of at most the least block is one block, since cutting it gains less than the
 * completions cost. The numbers are measured (docs/results.md, "Block size"): in shared memory a block costs a
 * member its processor, over a network mostly its link, so there blocks are smaller.
 *
 *   n = 8             size     64 KiB   1 MiB    4 MiB    16 MiB   64 MiB   256 MiB
 *   shared memory     block    256 KiB  256 KiB  256 KiB  512 KiB  2 MiB    2 MiB
 *   network           block    64 KiB   64 KiB   64 KiB   64 KiB   256 KiB  512 KiB
 */
interface Policy {
  readonly leastBytes: number;
  readonly mostBytes: number;
  readonly blocksPerStep: number;
}

const SHARED_MEMORY: Policy = { leastBytes: 256 * KIB, mostBytes: 2 * MIB, blocksPerStep: 12 };
const NETWORK: Policy = { leastBytes: 64 * KIB, mostBytes: 1 * MIB, blocksPerStep: 100 };

export const LEAST_AUTO_BLOCK_BYTES = Math.min(SHARED_MEMORY.leastBytes, NETWORK.leastBytes);
/** Also the size of the first-block buffers of a group whose block size is automatic. */
export const MOST_AUTO_BLOCK_BYTES = Math.max(SHARED_MEMORY.mostBytes, NETWORK.mostBytes);

/**
 * Block size for a message of `sizeBytes` to a group of `nodes` members (root included, 2 or more) whose blocks
 * travel by `transports` (`group.transports`; default: shared memory).
 */
export function automaticBlockSize(
  sizeBytes: number,
  nodes: number,
  transports: readonly string[] = ['shm'],
): number {
  const { leastBytes, mostBytes, blocksPerStep } = transports.every((name) => name === 'shm')
    ? SHARED_MEMORY
    : NETWORK;
  if (sizeBytes <= leastBytes) return leastBytes;
  const startUpSteps = Math.max(1, Math.ceil(Math.log2(nodes)));
  const powerOfTwo = 2 ** Math.round(Math.log2(sizeBytes / (blocksPerStep * startUpSteps)));
  return Math.min(mostBytes, Math.max(leastBytes, powerOfTwo));
}
