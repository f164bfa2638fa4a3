/** Size of both regions, and the largest message size. */
export const REGION_BYTES = 64 << 20;
/** Size of the incoming and the outgoing half of a region. */
export const MAX_LATENCY_BYTES = REGION_BYTES / 2;
export const SEND_DEPTH = 256;
export const RECEIVE_DEPTH = 512;
/**
 * After this time of requests the event loop has a turn, for Ctrl-C and the end of the other process. The request after it
 * can be slower: one of thousands, so that percentiles do not change.
 */
export const TURN_MS = 100;
