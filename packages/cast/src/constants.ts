/** Every number of the package in one place. Bytes, milliseconds and counts, as the names say. */

/** Version of the control frames and of the stream. Sender and receivers must speak the same one. */
export const CAST_PROTOCOL_VERSION = 2;

export const KIB = 1024;
export const MIB = 1024 * 1024;

export const DEFAULT_PORT = 7411;
export const MAX_PORT = 65_535;
/** Largest delay `setTimeout` keeps; a longer one would fire at once. */
export const MAX_TIMER_MS = 0x7fff_ffff;

export const MIN_MESSAGE_BYTES = 64 * KIB;
export const DEFAULT_MESSAGE_BYTES = 64 * MIB;
export const MAX_MESSAGE_BYTES = 1024 * MIB;
/** Messages of a small cast are not made smaller than this, unless the limit is. */
export const SMALL_MESSAGE_BYTES = 4 * MIB;
/** A small cast is cut into this many messages, so that reading, sending and storing overlap. */
export const MESSAGES_PER_SMALL_CAST = 5;
/** Sizes of messages are multiples of this. */
export const MESSAGE_STEP_BYTES = 64 * KIB;
/** Automatic blocks are no larger than a message by this, and no smaller than the next one. */
export const LEAST_BLOCKS_PER_MESSAGE = 64;
export const MIN_BLOCK_BYTES = 16 * KIB;
/** What the records of a few files take in a message. */
export const RECORD_ALLOWANCE_BYTES = 8 * KIB;
/** Buffers of one message each, at the sender and at every receiver. */
export const MESSAGE_BUFFERS = 3;
/** A limited sender feeds at most this part of a second at once. */
export const LIMITED_MESSAGES_PER_SECOND = 4;
export const MIN_BANDWIDTH_LIMIT = 64 * KIB;

export const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
export const DEFAULT_STALL_TIMEOUT_MS = 30_000;
export const MIN_STALL_TIMEOUT_MS = 1_000;
/** The devices wait for a silent neighbour no longer. */
export const MAX_STALL_TIMEOUT_MS = 600_000;
export const MAX_RETRIES = 100;
export const MAX_TARGETS = 4095;

/** How often a receiver reports, which is its sign of life as well; and the sender's own. */
export const HEARTBEAT_MS = 200;
export const MAX_CONTROL_FRAME_BYTES = 1024 * KIB;
/** A caller that has not sent its invitation within this time is dropped. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Callers with the right key and without an invitation, and casts, that a receiver takes at once. */
export const MAX_GREETINGS = 64;
export const MAX_CASTS = 16;
/** How much longer than the sender a receiver waits for the mesh of a cast. */
export const JOIN_GRACE_MS = 30_000;
/** How long an end of a control connection waits for the other to read the last frame. */
export const FAREWELL_TIMEOUT_MS = 2_000;
/** A writer's thread that is to end and has done nothing for so long hangs on its disk. */
export const WRITER_HANGS_MS = 10_000;
/** How long a connection may outlive the news that the process behind it is gone. */
export const LOSS_GRACE_MS = 1_000;

/** The group of a cast; the groups of its survivors count on from there. */
export const FIRST_GROUP_ID = 1;
export const SENDER_ID = 0;
/** A member is dropped when this many groups failed because of it while its control connection lived. */
export const MAX_BLAMES = 2;

export const MAX_NAME_BYTES = 255;
export const MAX_PATH_BYTES = 4096;
export const MAX_ENTRIES = 0x7fff_ffff;
/** Bytes read and hashed at a time, so that what is hashed is still in the cache. */
export const CHUNK_BYTES = 1024 * KIB;
/** Sparse files are looked at in pieces of this size. */
export const HOLE_BYTES = 16 * KIB;
/** Files that wait to be on disk before they get their names, at most: each keeps a descriptor open. */
export const MAX_UNSYNCED_FILES = 256;
/** Of a file under way: when so much was written since, the disk is given it, so that the end waits for little. */
export const EARLY_SYNC_BYTES = 32 * MIB;
/** Of a file under way: written since the disk was last given it, at most, while the disk is still busy with it. */
export const MAX_UNSYNCED_BYTES = 128 * MIB;
/** Directories that are synced at a time. */
export const DIRECTORIES_SYNCED_AT_ONCE = 8;
/** Open directories the writer keeps. */
export const MAX_OPEN_DIRECTORIES = 128;
export const MAX_PROBLEMS_KEPT = 500;
/** Longer messages of problems are clipped, so that all that are kept fit into a frame. */
export const MAX_PROBLEM_CHARACTERS = 400;

/** What is left of modes: no set-user-id, no set-group-id, as the owner differs. */
export const MODE_MASK = 0o777;
export const TEMPORARY_PREFIX = '.rdmc-cast-';
