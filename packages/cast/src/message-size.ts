import {
  DEFAULT_MESSAGE_BYTES,
  LIMITED_MESSAGES_PER_SECOND,
  MESSAGES_PER_SMALL_CAST,
  MIN_MESSAGE_BYTES,
  SMALL_MESSAGE_BYTES,
} from './constants.js';

/**
 * Bytes of a message: `limit` for large casts; less for small ones, so that a few messages follow each other and
 * reading, sending and storing overlap, and so that a small cast does not take the memory of a large one. A cast
 * limited to some bytes a second sends a small part of a second at once.
 */
export function messageSize(
  totalBytes: number,
  limit = DEFAULT_MESSAGE_BYTES,
  bandwidthLimit = Number.POSITIVE_INFINITY,
): number {
  const most = Math.min(limit, Math.floor(bandwidthLimit / LIMITED_MESSAGES_PER_SECOND));
  const share = Math.max(1, totalBytes / MESSAGES_PER_SMALL_CAST);
  const power = 2 ** Math.ceil(Math.log2(share));
  return Math.max(MIN_MESSAGE_BYTES, Math.min(most, Math.max(power, SMALL_MESSAGE_BYTES)));
}
