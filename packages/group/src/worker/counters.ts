/*
 * Counters of groups, in shared memory: written by the worker only, readable from every thread without a call.
 * A group has 16 slots of one Float64 (8 aligned bytes), exact up to 2^53:
 *
 *   slot 0 blocksReceived   1 bytesReceived   2 bytesExpected   3 messagesReceived
 *        4 blocksSent       5 bytesSent       6 messagesSent    7 firstBlockCopies
 *        8 bytesCopied      9 announcements
 */
export const Counter = {
  BLOCKS_RECEIVED: 0,
  BYTES_RECEIVED: 1,
  /** Sizes of all messages that have begun, so that received / expected is the progress. */
  BYTES_EXPECTED: 2,
  MESSAGES_RECEIVED: 3,
  BLOCKS_SENT: 4,
  BYTES_SENT: 5,
  MESSAGES_SENT: 6,
  FIRST_BLOCK_COPIES: 7,
  BYTES_COPIED: 8,
  ANNOUNCEMENTS: 9,
} as const;

const SLOTS = 16;

/** The counters of a group that is not in a table. */
export function createCounters(): Float64Array {
  return new Float64Array(SLOTS);
}

/** Shared memory for the counters of `groups` groups, all zero. */
export function createCounterTable(groups: number): SharedArrayBuffer {
  return new SharedArrayBuffer(groups * SLOTS * Float64Array.BYTES_PER_ELEMENT);
}

/** The counters of one group of a table. */
export function countersAt(table: SharedArrayBuffer, group: number): Float64Array {
  return new Float64Array(table, group * SLOTS * Float64Array.BYTES_PER_ELEMENT, SLOTS);
}
