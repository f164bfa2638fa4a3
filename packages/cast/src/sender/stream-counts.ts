import type { Pump } from './pump.js';

/** Counts over the streams that a receiver takes part in, in order; the last one may be in progress. */

/** Messages of all streams that are filled so far. */
export function madeMessages(pumps: readonly Pump[]): number {
  return pumps.reduce((sum, pump) => sum + pump.madeMessages, 0);
}

/** Messages of the streams before the last one. */
export function messagesBeforeLast(pumps: readonly Pump[]): number {
  return pumps.slice(0, -1).reduce((sum, { messages = 0 }) => sum + messages, 0);
}

/** Bytes of file contents in the first messages, and in bytes of the next message. */
export function bytesIn(pumps: readonly Pump[], messages: number, partialBytes: number): number {
  let left = messages;
  let bytes = 0;
  for (const pump of pumps) {
    const { messages: all = Number.POSITIVE_INFINITY } = pump;
    bytes += pump.bytesIn(left, left < all ? partialBytes : 0);
    if (left < all) break;
    left -= all;
  }
  return bytes;
}
