/** The numbers of this package. Their layout is drawn in control.ts and ring.ts. */

export const DEFAULT_WINDOW_MS = 50;
export const DEFAULT_RING_BYTES = 1 << 20;
export const MIN_RING_BYTES = 4096;
export const MAX_RING_BYTES = 1 << 30;
export const DEFAULT_COMPLETION_QUEUE_DEPTH = 16_384;
/**
 * The young generation of the worker's heap, in MiB: three spaces of 1 MiB. V8 lets it grow to 48 MiB, and keeps that; what the
 * worker allocates for each group, log and channel lives long, and its loop allocates little.
 */
export const WORKER_YOUNG_MIB = 3;
export const DEFAULT_STOP_TIMEOUT_MS = 5000;
export const MAX_PROTOCOLS = 255;
export const MAX_KIND = 0xffff;
/** The most numbers in one record. */
export const MAX_NUMBERS = 8;

/** How long the worker spins before its event loop gets a turn. */
export const SLICE_MS = 0.5;
/** Commands taken in one turn, so that a stream of commands does not delay completions. */
export const COMMANDS_PER_TURN = 64;
/** Events that the application's thread takes at once before its event loop gets a turn. */
export const EVENTS_PER_DRAIN = 256;

/** A yield of the processor that took longer than this means that another thread ran meanwhile. */
export const CONTESTED_YIELD_NS = 20_000;
/** How long the worker uses interrupts only after it found its processor contested; doubles up to the maximum. */
export const MIN_REST_MS = 50;
export const MAX_REST_MS = 3200;

/** How long after a contested yield between two looks (`ProtocolContext.look`) the thread naps instead of yielding. */
export const NAPS_MS = 50;
/** Length of a nap: long compared with a look, short compared with the 1 ms of timers, which are for longer pauses. */
export const NAP_MICROSECONDS = 100;

/** The most counters of protocols. */
export const MAX_NAMED_COUNTERS = 64;
export const MAX_COUNTER_NAME_BYTES = 52;

/** Protocol number of the data plane's own records. */
export const SYSTEM_PROTOCOL = 0;
/** In the command ring. */
export const SystemKind = { STOP: 1 } as const;
/** In the event ring. PROTOCOL_ENDED: a Failure with the number of the protocol. */
export const SystemEvent = { PROTOCOL_ENDED: 1 } as const;
/** Kind of a record of the event ring that answers a command (its request id is not 0). */
export const ReplyKind = { DONE: 0, FAILED: 1 } as const;
/** Uncontested yields in a row (some milliseconds of polling) after which the processor counts as uncontested again. */
export const CALM_YIELDS = 10_000;

/** Entries of the completion queue of a protocol in the application's thread. */
export const DEFAULT_INLINE_QUEUE_DEPTH = 4096;
/** A protocol in the application's thread returns to the event loop after this time. */
export const INLINE_TURN_MS = 1;
