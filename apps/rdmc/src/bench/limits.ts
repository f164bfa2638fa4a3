/** Size of both regions, and the largest message size. */
export const REGION_BYTES = 64 << 20;
/** Size of the incoming and the outgoing half of a region. */
export const MAX_LATENCY_BYTES = REGION_BYTES / 2;
export const SEND_DEPTH = 256;
export const RECEIVE_DEPTH = 512;
