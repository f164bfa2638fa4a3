/** A group is one root and at least one receiver. */
export const MIN_NODES = 2;

/** 2^20 members. Ranks are handled with 32-bit integer operations; the tests go to 100,000. */
export const MAX_NODES = 1_048_576;

/** 2^32 blocks: a block's number travels in the 32-bit immediate of its send. */
export const MAX_BLOCKS = 4_294_967_296;
