import { KIB, MIB } from './constants.js';

/**
 * The automatic block size, chosen by the root for each message.
 *
 * Small blocks fill the pipeline soon: it takes ceil(log2 n) steps before everybody works. Large blocks
 * cost less per byte: each has a completion, an announcement and perhaps a wake-up on two sides. So: about
 * `BLOCKS_PER_STEP` blocks for each step of the start-up, in powers of two, within limits; a message of at
 * most `ONE_BLOCK_UP_TO_BYTES` is one block, since cutting it gains less than the completions cost. The
 * limits are measured (docs/results.md, "Block size").
 *
 *   n = 8          size     64 KiB   1 MiB    4 MiB    16 MiB   64 MiB   256 MiB
 *                  block    256 KiB  256 KiB  256 KiB  512 KiB  2 MiB    2 MiB
 */
export const ONE_BLOCK_UP_TO_BYTES = 256 * KIB;
export const LEAST_AUTO_BLOCK_BYTES = 256 * KIB;
/** Also the size of the first-block buffers of a group whose block size is automatic. */
export const MOST_AUTO_BLOCK_BYTES = 2 * MIB;
const BLOCKS_PER_STEP = 12;

/** Block size for a message of `sizeBytes` to a group of `nodes` members (root included, 2 or more). */
export function automaticBlockSize(sizeBytes: number, nodes: number): number {
  if (sizeBytes <= ONE_BLOCK_UP_TO_BYTES) return ONE_BLOCK_UP_TO_BYTES;
  const startUpSteps = Math.max(1, Math.ceil(Math.log2(nodes)));
  const ideal = sizeBytes / (BLOCKS_PER_STEP * startUpSteps);
  const powerOfTwo = 2 ** Math.round(Math.log2(ideal));
  return Math.min(MOST_AUTO_BLOCK_BYTES, Math.max(LEAST_AUTO_BLOCK_BYTES, powerOfTwo));
}
