import { KIB, MIB } from './constants.js';

/**
 * The automatic block size, chosen by the root for each message: a power of two within limits.
 *
 * Small blocks fill the pipeline soon: it takes l = ceil(log2 n) steps before all members work, and the root sends
 * l - 1 blocks without a gain. Large blocks cost less per byte: each block has a completion, a wake-up and a part of an
 * announcement on two sides. A message of at most the least block is one block, because cutting it gains less than
 * the completions cost. The numbers are measured (docs/results/multicast.md, "Block size"):
 *
 * - In shared memory a block costs processor time of the member: about 12 blocks for each step of the start-up.
 * - Over a network a block costs mostly time of the link. The cost of a block beside its bytes equals c bytes of
 *   the link, so a message of S bytes in blocks of B takes S + c S/B + (l - 1) B, which is least at
 *   B = sqrt(c S / (l - 1)).
 *
 *   n = 8             size     64 KiB   1 MiB    4 MiB    16 MiB   64 MiB   256 MiB  1 GiB
 *   shared memory     block    256 KiB  256 KiB  256 KiB  512 KiB  2 MiB    2 MiB    2 MiB
 *   network           block    64 KiB   64 KiB   64 KiB   64 KiB   128 KiB  256 KiB  512 KiB
 */
interface Policy {
  readonly leastBytes: number;
  readonly mostBytes: number;
  /** The best size, before limits and rounding, for a start-up of `startUpSteps` steps. */
  readonly bestBytes: (byteLength: number, startUpSteps: number) => number;
}

const SHARED_MEMORY_BLOCKS_PER_STEP = 12;
const NETWORK_BLOCK_COST_BYTES = 768;

const SHARED_MEMORY: Policy = {
  leastBytes: 256 * KIB,
  mostBytes: 2 * MIB,
  bestBytes: (byteLength, steps) => byteLength / (SHARED_MEMORY_BLOCKS_PER_STEP * steps),
};
const NETWORK: Policy = {
  leastBytes: 64 * KIB,
  mostBytes: 1 * MIB,
  bestBytes: (byteLength, steps) =>
    Math.sqrt((NETWORK_BLOCK_COST_BYTES * byteLength) / Math.max(1, steps - 1)),
};

export const LEAST_AUTO_BLOCK_BYTES = Math.min(SHARED_MEMORY.leastBytes, NETWORK.leastBytes);
/** Also the size of the first-block buffers of a group whose block size is automatic. */
export const MOST_AUTO_BLOCK_BYTES = Math.max(SHARED_MEMORY.mostBytes, NETWORK.mostBytes);

/**
 * Block size for a message of `byteLength` to a group of `nodes` members (root included, 2 or more) whose blocks
 * use `transports` (`group.transports`; default: shared memory).
 */
export function automaticBlockSize(
  byteLength: number,
  nodes: number,
  transports: readonly string[] = ['shm'],
): number {
  const policy = transports.every((name) => name === 'shm') ? SHARED_MEMORY : NETWORK;
  if (byteLength <= policy.leastBytes) return policy.leastBytes;
  const startUpSteps = Math.max(1, Math.ceil(Math.log2(nodes)));
  const powerOfTwo = 2 ** Math.round(Math.log2(policy.bestBytes(byteLength, startUpSteps)));
  return Math.min(policy.mostBytes, Math.max(policy.leastBytes, powerOfTwo));
}
