/** The numbers of the mesh protocol. Names have the unit: milliseconds or bytes. */

/**
 * Version of HELLO and REJECT (`hello.ts`), which say the levels of both ends. Two members must have the same one. All other frames
 * are those of the connection's level.
 */
export const PROTOCOL_VERSION = 5;

export const MAX_MEMBERS = 4096;
export const MAX_MEMBER_ID = 0x7fff_ffff;
/** In place of the id of a member whose address only is known. */
export const ANY_MEMBER = -1;
export const MAX_PORT = 65_535;
export const MAX_HOST_CHARACTERS = 255;

export const DEFAULT_TIMEOUT_MS = 30_000;
export const DEFAULT_HEARTBEAT_MS = 2_000;
export const DEFAULT_SILENCE_TIMEOUT_MS = 10_000;
export const DEFAULT_REQUEST_TIMEOUT_MS = 30_000;
/** Largest delay `setTimeout` keeps; a longer one would fire at once. */
export const MAX_TIMER_MS = 0x7fff_ffff;

/** Bounds a frame's length field (type byte and payload). */
export const DEFAULT_MAX_FRAME_BYTES = 1024 * 1024;
export const MIN_MAX_FRAME_BYTES = 64 * 1024;
export const MAX_MAX_FRAME_BYTES = 256 * 1024 * 1024;
export const DEFAULT_MAX_BUFFERED_BYTES = 64 * 1024 * 1024;

/** Bounds of the messages that wait for a first subscriber: per peer and topic, and per peer in all. */
export const MAX_KEPT_MESSAGES = 1024;
export const MAX_KEPT_BYTES_PER_PEER = 16 * 1024 * 1024;
/** A waiting message counts for this many bytes more than its own. */
export const KEPT_OVERHEAD_BYTES = 256;

/** What a HELLO has beside the attributes where members come and go: address, claim, process, digest. */
export const MAX_LIVE_HELLO_BYTES = 2048;

/** The interval of heartbeats grows with the number of members: at least so many milliseconds for each. */
export const HEARTBEAT_MS_PER_MEMBER = 10;
/** A peer is silent after so many intervals of heartbeats, at least. */
export const SILENT_HEARTBEATS = 3;
/** Where the list of members is fixed, and longer than this, a member sends heartbeats to some others often, to all others rarely. */
export const MOST_CLOSE_MEMBERS = 16;
/** The distances to close members in the ring of all; and that part of the ring. */
export const CLOSE_DISTANCES: readonly number[] = [1, 2, 4];
export const CLOSE_PART = 3;
/** How many times the interval of heartbeats, and the time of silence, are as long for those others. */
export const DISTANT_FACTOR = 32;
/** Default where members come and go; a silent peer is detected after 10 s at most in a mesh of 256. */
export const DEFAULT_LIVE_SILENCE_MS = 8_000;
/** Silence is looked for several times in an interval. */
export const TICKS_PER_HEARTBEAT = 4;

/** Connections of one source without a proof of the key, where the number of members is not known. */
export const EXPECTED_LIVE_PEERS = 1024;
/** Lost members that are kept until they are removed; beyond it the one that was lost first is removed. */
export const MAX_LOST_MEMBERS = 1024;
/** Marks of ids that have left or were removed. */
export const MAX_ROSTER_MARKS = 4096;
/** Attempts to connect that one member makes at once. */
export const DIALS_AT_ONCE = 16;
/** The same of all members of one process, which share its processor. */
export const DIALS_AT_ONCE_PER_PROCESS = 64;
/** The longest pause between two attempts to reach a lost member. */
export const REACH_PAUSE_MAX_MS = 5_000;
/** A member with a lower id shows itself to one that does not connect, after this long without a new connection. */
export const NUDGE_TICK_MS = 1_000;
export const NUDGE_AFTER_TICKS = 3;
/** The same before the first connection was lost. */
export const NUDGE_AFTER_TICKS_JOINING = 10;
export const NUDGE_MAX_TICKS = 30;
/** Members to which it shows itself at once. */
export const NUDGES_AT_ONCE = 8;
/** Rosters that differ are sent to so many peers in each interval of heartbeats. */
export const REPAIRS_PER_HEARTBEAT = 2;
/** Intervals of heartbeats, at most, in which rosters are not sent because connections were made. */
export const REPAIRS_POSTPONED = 16;
/** Changes of the roster within so many milliseconds are sent together. */
export const NEWS_GAP_MS = 50;
/** How long a newcomer waits for the process that has its id to answer, where the mesh does not reach that process. */
export const HOLDER_TIMEOUT_MS = 3_000;
export const MAX_CLUSTER_ID_CHARACTERS = 256;

export const MAX_TOPIC_BYTES = 256;
export const MAX_ATTRIBUTES_BYTES = 16 * 1024;
export const MAX_REASON_CHARACTERS = 1024;
export const MAX_CODE_CHARACTERS = 64;

/** The age of a pending connection is counted in ticks of this process' own event loop. */
export const HANDSHAKE_TICK_MS = 250;
/** An accepted connection is closed when its first bytes have not come after 1 s. */
export const FIRST_BYTES_TICKS = 4;
/** An attempt to connect ends when it has no connection after 5 s; the next attempt follows. */
export const CONNECT_TICKS = 20;
/**
 * A connection is closed when its handshake is not complete after 20 s. The time is that long because many members that join
 * at once on one busy machine share its processor, and an attempt that ends early starts from the beginning.
 */
export const HANDSHAKE_TICKS = 80;
/** Connections per source without a proof of the key, beyond the expected ones: one per member. */
export const SPARE_PENDING_CONNECTIONS = 64;
/** All sources together may have as many as the quotas of this number of sources. */
export const PENDING_SOURCES = 4;
/** Attempts to connect when the other end closes each connection before it answers. */
export const CUT_ATTEMPTS = 3;
/** The pause before the next attempt, plus or minus a quarter, so that callers do not return all at once. */
export const CUT_PAUSE_MS = 50;
/** How long `close()` waits for a peer to read the LEAVE before it closes the connection. */
export const CLOSE_TIMEOUT_MS = 2_000;
/** The number of ticks of this process' own event loop in that time. */
export const CLOSE_TICKS = 10;

/** Connections beside the mesh's own that one member may have opened to another. */
export const MAX_CONNECTIONS_PER_MEMBER = 64;
/** Attempts to open such a connection when the other end is not reachable or closes the connection. */
export const CONNECTION_ATTEMPTS = 3;
export const MAX_PURPOSE_BYTES = 256;

export const DIAL_BACKOFF_FIRST_MS = 10;
export const DIAL_BACKOFF_MAX_MS = 500;
export const DIAL_BACKOFF_FACTOR = 1.7;

export const KEEPALIVE_DELAY_MS = 10_000;

export const MIN_KEY_BYTES = 16;
export const SECRET_BYTES = 32;
