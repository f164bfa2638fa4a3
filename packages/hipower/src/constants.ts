/** The numbers of the HiPower protocol. Names have the unit: bytes, milliseconds or counts. */

/** Version of slots, bitmaps and of the messages in `wire-messages.ts`. Both sides must agree. */
export const HIPOWER_PROTOCOL_VERSION = 3;

/** Bits in a channel's board (`layout/board.ts`), one per slot. */
export const MAX_SLOTS = 8192;
export const MAX_SLOT_BYTES = 1 << 30;
export const MIN_SLOT_BYTES = 8;
/** All slots of one end with their footers. One view covers them, and a view has less than 4 GiB in the oldest Node.js. */
export const MAX_POOL_BYTES = 2 ** 32 - 4096;
export const DEFAULT_SLOTS = 256;
export const DEFAULT_SLOT_BYTES = 4096;

/** The requester reads P when its free slots are fewer than this share of all (paper, section 4.1: half). */
export const DEFAULT_REFRESH_THRESHOLD = 0.5;

/** Responders of one requester, and requesters of one responder. */
export const MAX_PEERS = 128;
export const MAX_CHANNEL_NAME_BYTES = 200;

/** How long a waiting side looks in every turn before it uses timers. */
export const DEFAULT_SPIN_MS = 50;
/** Longest pause between two looks of an idle side. */
export const DEFAULT_MAX_IDLE_MS = 4;

/**
 * Outstanding batches per peer: a READ of P waits for them, and on TCP the answer to a READ of R does. Also pushes, if
 * the device places WRITEs in order: their snapshots stay staged until they complete. If it does not, an older
 * snapshot could overwrite a newer one, so only one push is outstanding.
 */
export const MAX_PUSHES = 8;
/** Payload that is announced together, unless one slot holds more: the responder processes it while the next is in flight. */
export const BATCH_BYTES = 1 << 18;
/** Requests of a queue pair beside one per slot: pushes, one read, the end flag, confirmations. */
export const EXTRA_SEND_DEPTH = 32;

export const DEFAULT_RETRY_TIMEOUT_MS = 2_000;
export const DEFAULT_CONNECT_TIMEOUT_MS = 30_000;
export const MAX_TIMEOUT_MS = 600_000;
/** Pause before a failed connection is retried; it grows with every attempt. The event of a removed device follows the flushed requests. */
export const RETRY_PAUSE_MS = 250;
/** Reconnects in a row without a released slot between them before the channel fails. */
export const MAX_FRUITLESS_RECONNECTS = 4;
/** How long a responder that has everything waits until its requesters know it. */
export const CLOSE_TIMEOUT_MS = 5_000;
