/** The blocks of a message: all of one size, the last one may be shorter; an empty message has one empty block. */

/** k = max(1, ceil(byteLength / blockBytes)). */
export function blockCount(byteLength: number, blockBytes: number): number {
  return Math.max(1, Math.ceil(byteLength / blockBytes));
}

/** Bytes of block `block` of a message. */
export function blockLength(byteLength: number, blockBytes: number, block: number): number {
  return Math.min(blockBytes, byteLength - block * blockBytes);
}
