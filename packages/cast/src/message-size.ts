import { MESSAGES_PER_SMALL_CAST, SMALL_MESSAGE_BYTES } from './constants.js';

/**
 * Bytes of a message: the limit for large casts; less for small ones, so that a few messages follow each other and
 * reading, sending and storing overlap, and so that a small cast does not take the memory of a large one.
 */
export function messageSize(totalBytes: number, limit: number): number {
  const share = Math.max(1, totalBytes / MESSAGES_PER_SMALL_CAST);
  const power = 2 ** Math.ceil(Math.log2(share));
  return Math.min(limit, Math.max(power, SMALL_MESSAGE_BYTES));
}
