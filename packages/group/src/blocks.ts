/** How a message is cut: blocks of one size, the last one shorter, and one empty block for an empty message. */

/** k = max(1, ceil(sizeBytes / blockSizeBytes)). */
export function blockCount(sizeBytes: number, blockSizeBytes: number): number {
  return Math.max(1, Math.ceil(sizeBytes / blockSizeBytes));
}

/** Bytes of block `block` of a message. */
export function blockLength(sizeBytes: number, blockSizeBytes: number, block: number): number {
  return Math.min(blockSizeBytes, sizeBytes - block * blockSizeBytes);
}
