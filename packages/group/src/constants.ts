/** The numbers of the group protocol. Names have the unit: bytes or milliseconds; the others are counts. */

/** Version of the wire: header, announcements, and the messages of `wire-messages.ts`. Members must agree. */
export const GROUP_PROTOCOL_VERSION = 9;

export const KIB = 1024;
export const MIB = 1024 * 1024;

/** Size of the header in front of every block, drawn in `worker/header.ts`. */
export const HEADER_BYTES = 20;
/** Words of 32 bits in the header. */
export const HEADER_WORDS = 5;

export const MIN_BLOCK_BYTES = 1;
/** A work request carries less than 2^31 bytes, including the header. */
export const MAX_BLOCK_BYTES = 1024 * MIB;

/** Receives posted ahead in a group, over all neighbours together. */
export const DEFAULT_RECEIVE_WINDOW = 32;
/** Blocks a member may be sending at once in a group. */
export const DEFAULT_SEND_WINDOW = 4;
/** The largest receive or send window. */
export const MAX_WINDOW = 64;

/** Messages a receiver works on at once. Each has at most one first-block buffer. */
export const OPEN_MESSAGES = 4;
/**
 * Blocks of up to that many bytes are sent before their receiver has memory for the message, into a first-block buffer. If the
 * blocks of a message are longer, its header goes ahead. They are the automatic block sizes of short messages, in shared
 * memory and over a network.
 */
export const EAGER_BYTES = 256 * KIB;
export const EAGER_NETWORK_BYTES = 64 * KIB;
/** First-block buffers of a node beyond one for each of its groups, for messages that follow one another closely. */
export const SPARE_BUFFERS = 12;
/** First-block buffers that a node allocates at once. */
export const BUFFERS_PER_SLAB = 16;
/**
 * Messages of a root that are in the worker; the others wait in the application's thread, where an abort removes them.
 */
export const SENDS_IN_WORKER = 8;
/** Messages a receiver keeps for its application before it holds up the group. */
export const UNREAD_MESSAGES = 64;

/** Messages of up to that many bytes go through rings. */
export const DEFAULT_SMALL_MESSAGE_BYTES = 8 * KIB;
/** In larger groups a root does not write small messages to each receiver itself: relays do. */
export const MOST_FLAT_MEMBERS = 16;
export const MAX_SMALL_MESSAGE_BYTES = 64 * KIB;
/** Members of a group of many senders: each sender has a ring at each other member. */
export const MAX_MANY_MEMBERS = 16;

/** The most slots of memory ahead, and the largest of them. */
export const MAX_RECEIVE_MESSAGES = 65_536;
export const MAX_RECEIVE_BYTES = 1024 * MIB;
/** All slots of memory ahead: one typed array has to hold them. */
export const MAX_RECEIVE_MEMORY_BYTES = 0x7fff_ffff;
/** The most messages in a batch of `group.messages()`. */
export const BATCH_MESSAGES = 1024;

/** Memory for copies of messages that were given as bytes, for each group of a root. */
export const DEFAULT_SEND_BUFFER_BYTES = 64 * MIB;
/** One typed array has to hold a whole buffer. */
export const MAX_SEND_BUFFER_BYTES = 0x7fff_ffff;
/** Largest message of `group.writable()`, unless its option says otherwise. */
export const DEFAULT_STREAM_MESSAGE_BYTES = 1 * MIB;
/** Bytes of a message that `group.readable()` copies at once. */
export const READABLE_CHUNK_BYTES = 256 * KIB;

/** Announcements in flight per neighbour before further ones wait; they are cumulative, so a later one covers them. */
export const CONTROL_SEND_DEPTH = 32;
/** Each announcement whose number is a multiple of this is signalled; its completion frees the send queue. */
export const CONTROL_SIGNAL_EVERY = 16;

/** Between two looks at the neighbours of a group in which a message is under way, at least; the next turn of the worker looks. */
export const WATCH_INTERVAL_MS = 200;
/** At most so long: without a turn, a timer wakes the worker. */
export const WATCH_LATEST_MS = 300;
/** Where neighbours send without one another, one of them is probed after so long without anything from it. */
export const WATCH_PATIENCE_MS = 1_000;
/** Looks at a group go on for so long after its last message; then it counts as idle. */
export const WATCH_LINGER_MS = 2_000;
/** How long after the retry time-out an RDMA device may still report that a neighbour does not answer. */
export const WATCH_GRACE_MS = 400;
/**
 * With stable delivery: how much longer a WRITE of counts may take. Unlike a state, it can wait for a worker at the other end that
 * stands and has not read earlier notices. The mesh finds a process that was stopped in half of that time, by default.
 */
export const WATCH_COUNTS_MS = 20_000;

/** Blocks per message. The immediate could count more, but one bit per block is kept. */
export const MAX_BLOCKS_PER_MESSAGE = 2 ** 28;

/** Groups a node can have open at once. */
export const MAX_GROUPS = 1024;
export const MAX_GROUP_ID = 0x7fff_ffff;
/** How long a neighbour's device may be silent in mid-transfer; limits of the verbs' `connect`. */
export const DEFAULT_RETRY_TIMEOUT_MS = 2_000;
export const MAX_RETRY_TIMEOUT_MS = 600_000;
export const DEFAULT_GROUP_TIMEOUT_MS = 30_000;
/** In groups of up to that many members every member tells every other one that it has created the group. */
export const MOST_DIRECT_MEMBERS = 16;
/** How often the root of a larger group tells which members are missing: after so long, and so much for each member. */
export const AWAITED_INTERVAL_MS = 250;
export const AWAITED_MS_PER_MEMBER = 4;
/** How long the error of a group that failed waits for the number of messages that each survivor has. */
export const COUNTS_TIMEOUT_MS = 1_000;
export const COUNTS_TICK_MS = 100;
/** Time-out of the request to a member whose queue pair broke, in ticks. Without an answer that member has failed. */
export const INQUIRY_TIMEOUT_MS = 1_000;
export const INQUIRY_TICK_MS = 100;
/** Of the same request, by the clock: a process is not stopped for longer without being lost itself. */
export const STOPPED_MS = 600_000;
/** How long a member waits for the verdict of another one that asks a third one: requests in a row, and no answers. */
export const SUSPICION_TIMEOUT_MS = 4_000;
/** How long after its flushed completions the event of a removed device may come. */
export const DEVICE_EVENT_DELAY_MS = 250;
/** Creations of one peer that may wait until this member creates the group as well. */
export const MAX_WAITING_CREATIONS = 4096;
export const DEFAULT_PROGRESS_INTERVAL_MS = 100;

/** With `arrivals`: how long a receiver collects messages for a report to the root, and how many a report has at most. */
export const REPORT_DELAY_MS = 10;
export const MOST_REPORTED_ARRIVALS = 256;
/** Messages that some receivers have reported and others have not: the root keeps at most that many. */
export const MOST_PENDING_ARRIVALS = 4096;
/** Messages of which `group.skew()` has both receivers. */
export const MOST_RECENT_SKEWS = 256;
