/** Numbers of this package, in one place. The layout they describe is drawn in control.ts and ring.ts. */

export const DEFAULT_WINDOW_MS = 50;
export const DEFAULT_RING_BYTES = 1 << 20;
export const MIN_RING_BYTES = 4096;
export const MAX_RING_BYTES = 1 << 30;
export const DEFAULT_COMPLETION_QUEUE_DEPTH = 16_384;
export const DEFAULT_STOP_TIMEOUT_MS = 5000;
export const MAX_PROTOCOLS = 255;
export const MAX_KIND = 0xffff;
/** Numbers in one record. */
export const MAX_NUMBERS = 8;

/** How long the worker spins before its event loop gets a turn. */
export const SLICE_MS = 0.5;
/** Commands taken in one turn, so that completions are never kept waiting by a stream of commands. */
export const COMMANDS_PER_TURN = 64;
/** Events the application's thread takes in one go before its own event loop gets a turn. */
export const EVENTS_PER_DRAIN = 256;

/** A yield of the processor that took longer than this means that somebody else ran meanwhile. */
export const CONTESTED_YIELD_NS = 20_000;
/** How long the worker stays with interrupts after it found its processor contested; doubles up to the maximum. */
export const MIN_REST_MS = 50;
export const MAX_REST_MS = 3200;

/** For so long after a contested yield between two looks (`ProtocolContext.look`) the thread naps where it would yield. */
export const NAPS_MS = 50;
/** Length of a nap: long beside a look, short beside the 1 ms of the event loop's timers, to which longer pauses belong. */
export const NAP_MICROSECONDS = 100;

/** Counters that protocols add. */
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
/** So many uncontested yields in a row (some milliseconds of polling) prove that the processor is calm again. */
export const CALM_YIELDS = 10_000;

/** Entries of the completion queue of a protocol in the application's thread. */
export const DEFAULT_INLINE_QUEUE_DEPTH = 4096;
/** A protocol in the application's thread leaves the event loop its turn after so long. */
export const INLINE_TURN_MS = 1;
