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
 * - Over RDMA the link is fast. About 6 us of a processor for each block are assumed, which is the time of 64 KiB at
 *   100 Gbit/s; no RDMA hardware was measured. On soft-RoCE, where the same processor moves the bytes, blocks of 1 MiB
 *   take half of the time of 128 KiB (docs/results/soft-roce.md). The RDMC paper has blocks of 1 MB.
 *
 *   n = 8             size     64 KiB   1 MiB    4 MiB    16 MiB   64 MiB   256 MiB  1 GiB
 *   shared memory     block    256 KiB  256 KiB  256 KiB  512 KiB  2 MiB    2 MiB    2 MiB
 *   TCP               block    64 KiB   64 KiB   64 KiB   64 KiB   128 KiB  256 KiB  512 KiB
 *   RDMA              block    64 KiB   256 KiB  512 KiB  1 MiB    1 MiB    1 MiB    1 MiB
 */
interface Policy {
  readonly leastBytes: number;
  readonly mostBytes: number;
  /** The best size, before limits and rounding, for a start-up of `startUpSteps` steps. */
  readonly bestBytes: (byteLength: number, startUpSteps: number) => number;
}

const SHARED_MEMORY_BLOCKS_PER_STEP = 12;
const TCP_BLOCK_COST_BYTES = 768;
const RDMA_BLOCK_COST_BYTES = 64 * KIB;
/** As `group.transports` names them: those of RDMA devices. */
const RDMA_TRANSPORTS: readonly string[] = ['roce', 'infiniband'];

const SHARED_MEMORY: Policy = {
  leastBytes: 256 * KIB,
  mostBytes: 2 * MIB,
  bestBytes: (byteLength, steps) => byteLength / (SHARED_MEMORY_BLOCKS_PER_STEP * steps),
};
/** Over a network whose links take as long for `costBytes` as a block costs beside its bytes. */
function network(costBytes: number): Policy {
  return {
    leastBytes: 64 * KIB,
    mostBytes: 1 * MIB,
    bestBytes: (byteLength, steps) => Math.sqrt((costBytes * byteLength) / Math.max(1, steps - 1)),
  };
}
const TCP = network(TCP_BLOCK_COST_BYTES);
const RDMA = network(RDMA_BLOCK_COST_BYTES);

const POLICIES: readonly Policy[] = [SHARED_MEMORY, TCP, RDMA];

export const LEAST_AUTO_BLOCK_BYTES = Math.min(...POLICIES.map(({ leastBytes }) => leastBytes));
/** Also the size of the first-block buffers of a group whose block size is automatic. */
export const MOST_AUTO_BLOCK_BYTES = Math.max(...POLICIES.map(({ mostBytes }) => mostBytes));

/**
 * Block size for a message of `byteLength` to a group of `nodes` members (root included, 2 or more) whose blocks
 * use `transports` (`group.transports`; default: shared memory).
 */
export function automaticBlockSize(
  byteLength: number,
  nodes: number,
  transports: readonly string[] = ['shm'],
): number {
  const policy = policyFor(transports);
  if (byteLength <= policy.leastBytes) return policy.leastBytes;
  const startUpSteps = Math.max(1, Math.ceil(Math.log2(nodes)));
  const powerOfTwo = 2 ** Math.round(Math.log2(policy.bestBytes(byteLength, startUpSteps)));
  return Math.min(policy.mostBytes, Math.max(policy.leastBytes, powerOfTwo));
}

function policyFor(transports: readonly string[]): Policy {
  if (transports.every((name) => name === 'shm')) return SHARED_MEMORY;
  return transports.every((name) => RDMA_TRANSPORTS.includes(name)) ? RDMA : TCP;
}
