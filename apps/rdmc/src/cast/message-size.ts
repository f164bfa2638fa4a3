import { DEFAULT_MESSAGE_BYTES } from '@rdmc/cast';

const SMALLEST = 4 * 1024 * 1024;
/** A cast is cut into about this many messages, so that reading, sending and storing overlap. */
const MESSAGES = 8;
/** A limited sender sends at most this part of a second at once. */
const LIMITED_PER_SECOND = 4;

/** About how large the library makes messages: an eighth of the cast up to a power of two, within limits. */
export function messageSize(
  totalBytes: number,
  limit = DEFAULT_MESSAGE_BYTES,
  bytesPerSecond = Infinity,
): number {
  const wanted = 2 ** Math.ceil(Math.log2(Math.max(SMALLEST, totalBytes / MESSAGES)));
  return Math.min(wanted, limit, Math.ceil(bytesPerSecond / LIMITED_PER_SECOND));
}
