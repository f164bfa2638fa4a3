import {
  DEFAULT_MESSAGE_BYTES,
  LIMITED_MESSAGES_PER_SECOND,
  MESSAGE_STEP_BYTES,
  MESSAGES_PER_SMALL_CAST,
  MIN_MESSAGE_BYTES,
  RECORD_ALLOWANCE_BYTES,
  SMALL_MESSAGE_BYTES,
} from './constants.js';

/**
 * Bytes of a message: `limit` for large casts; less for small ones, which are cut into a few messages of one size so
 * that reading, sending and storing overlap, and so that a small cast does not take the memory of a large one. Messages
 * are few because each one costs the start-up of a pipeline. With a bandwidth limit, a message takes at most a quarter
 * of a second.
 */
export function messageSize(
  totalBytes: number,
  limit = DEFAULT_MESSAGE_BYTES,
  bandwidthLimit = Number.POSITIVE_INFINITY,
): number {
  const most = Math.min(limit, Math.floor(bandwidthLimit / LIMITED_MESSAGES_PER_SECOND));
  const whole = Math.floor(totalBytes / SMALL_MESSAGE_BYTES);
  const messages = Math.max(1, Math.min(MESSAGES_PER_SMALL_CAST, whole));
  const share = totalBytes / messages + RECORD_ALLOWANCE_BYTES;
  const rounded = Math.ceil(share / MESSAGE_STEP_BYTES) * MESSAGE_STEP_BYTES;
  return Math.max(MIN_MESSAGE_BYTES, Math.min(most, Math.max(rounded, SMALL_MESSAGE_BYTES)));
}
