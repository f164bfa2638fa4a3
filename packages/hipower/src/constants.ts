/** Every number of the HiPower protocol in one place. Bytes, milliseconds and counts, as the names say. */

/** Version of slots, bitmaps and of the messages in `wire-messages.ts`. Both sides must agree. */
export const HIPOWER_PROTOCOL_VERSION = 3;

/** What the board of a channel (`layout/board.ts`) holds one bit each for. */
export const MAX_SLOTS = 8192;
export const MAX_SLOT_BYTES = 1 << 30;
export const MIN_SLOT_BYTES = 8;
/** All slots of one end with their footers: one view covers them, which holds less than 4 GiB in Node 20. */
export const MAX_POOL_BYTES = 2 ** 32 - 4096;
export const DEFAULT_SLOTS = 256;
export const DEFAULT_SLOT_BYTES = 4096;

/** The requester reads P when its free slots are fewer than this share of all (paper, section 4.1: half). */
export const DEFAULT_REFRESH_THRESHOLD = 0.5;

/** Responders of one requester, and requesters of one responder. */
export const MAX_PEERS = 128;
export const MAX_CHANNEL_NAME_BYTES = 200;

/** How long a side that waits looks again and again before it goes over to timers. */
export const DEFAULT_SPIN_MS = 50;
/** Longest pause between two looks of an idle side. */
export const DEFAULT_MAX_IDLE_MS = 4;

/**
 * Batches under way per peer: a READ of P waits for them, and on TCP the answer to a READ of R does. Also pushes, where
 * the device places WRITEs in their order: their snapshots lie staged until they complete. Where it does not, an older
 * snapshot could land on a newer one, so there it is one.
 */
export const MAX_PUSHES = 8;
/** Payload that is announced together, unless one slot holds more: it can be worked on while the next is under way. */
export const BATCH_BYTES = 1 << 18;
/** Requests of a queue pair beside one per slot: pushes, one read, the end flag, confirmations. */
export const EXTRA_SEND_DEPTH = 32;

export const DEFAULT_RETRY_TIMEOUT_MS = 2_000;
export const DEFAULT_CONNECT_TIMEOUT_MS = 30_000;
export const MAX_TIMEOUT_MS = 600_000;
/** Before a connection that could not be made is tried again; longer with every try. The news of a removed device comes after what it flushed. */
export const RETRY_PAUSE_MS = 250;
/** New connections in a row without a message between them before the channel fails. */
export const MAX_BARREN_RECONNECTS = 4;
/** How long a responder that has everything waits for its requesters to learn it. */
export const FAREWELL_TIMEOUT_MS = 5_000;
