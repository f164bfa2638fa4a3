/** The numbers of the package. Names have the unit: bytes or milliseconds; others are counts. */

/** Version of the control frames and of the stream. Sender and receivers must use the same version. */
export const CAST_PROTOCOL_VERSION = 3;

export const KIB = 1024;
export const MIB = 1024 * 1024;

/** The control port of a receiver unless another one is given. */
export const DEFAULT_PORT = 7411;
export const MAX_PORT = 65_535;
/** Largest delay of `setTimeout`; a timer with a longer one would fire at once. */
export const MAX_TIMER_MS = 0x7fff_ffff;

export const MIN_MESSAGE_BYTES = 64 * KIB;
/**
 * The largest message of a cast unless another limit is given: every member holds three. Larger ones were not faster
 * (docs/results/network.md): less of them stays in the caches of processors.
 */
export const DEFAULT_MESSAGE_BYTES = 8 * MIB;
export const MAX_MESSAGE_BYTES = 1024 * MIB;
/** Least size of messages of a small cast, unless the limit is smaller. */
export const SMALL_MESSAGE_BYTES = 4 * MIB;
/** A small cast is cut into this many messages, so that reading, sending and storing overlap. */
export const MESSAGES_PER_SMALL_CAST = 5;
/** Sizes of messages are multiples of this. */
export const MESSAGE_STEP_BYTES = 64 * KIB;
/** An automatic block is at most a message divided by this, and at least `MIN_BLOCK_BYTES`. */
export const LEAST_BLOCKS_PER_MESSAGE = 64;
export const MIN_BLOCK_BYTES = 16 * KIB;
/** Least automatic block of a chain over a network. */
export const LEAST_CHAIN_BLOCK_BYTES = 32 * KIB;
/** Bytes that the records of a few files take in a message. */
export const RECORD_ALLOWANCE_BYTES = 8 * KIB;
/** Buffers of one message each, at the sender and at every receiver. */
export const MESSAGE_BUFFERS = 3;
/** Messages of an input of unknown length: smaller, so that the first bytes arrive soon. */
export const INPUT_MESSAGE_BYTES = 8 * MIB;
/** For the sizes of messages and blocks, an input of unknown length is taken to be this long. */
export const ASSUMED_INPUT_BYTES = 256 * MIB;
/** Messages of an input that are kept until all receivers have them. */
export const REPLAYED_MESSAGES = 16;
/** A message of a limited sender takes at most one second divided by this. */
export const LIMITED_MESSAGES_PER_SECOND = 4;
export const MIN_BANDWIDTH_LIMIT = 64 * KIB;

export const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
/** Members of a mesh that form it within the limit for one receiver, and the time that each further one may take. */
export const MESH_MEMBERS_IN_TIME = 16;
export const MESH_MS_PER_MEMBER = 1_000;
export const DEFAULT_STALL_TIMEOUT_MS = 30_000;
/** The shortest and the longest time without progress after which a receiver or a fetcher is dropped. */
export const MIN_STALL_TIMEOUT_MS = 1_000;
/** It is also the longest time that devices wait for a silent neighbour. */
export const MAX_STALL_TIMEOUT_MS = 600_000;
/** How long a gathering cast calls receivers that do not answer, unless another time is given. */
export const DEFAULT_JOIN_WINDOW_MS = 60_000;
export const MAX_RETRIES = 100;
export const MAX_TARGETS = 4095;

/**
 * Interval of a receiver's reports, which are its heartbeats too, of snapshots, and of the ticks that count silence.
 */
export const HEARTBEAT_MS = 200;
/** Longest interval of the heartbeats of a sender, or of a server. */
export const SENDER_HEARTBEAT_MS = 1_000;
/** Least number of a sender's heartbeats in the time after which it is taken to be lost, so that a late one does not matter. */
export const HEARTBEATS_IN_LIMIT = 5;
export const MAX_CONTROL_FRAME_BYTES = 1024 * KIB;
/** Largest piece of the manifest before compression; as base64 it fits into a frame even if it does not compress. */
export const MAX_PIECE_BYTES = 512 * KIB;
/** Small pieces, so that receivers compare one while the sender describes the next. */
export const MAX_PIECE_ENTRIES = 2048;
/** Pieces of the manifest that a receiver has not answered yet. */
export const PIECES_AHEAD = 3;
/** Most paths that a receiver may report as surplus. */
export const MAX_SURPLUS = 10_000_000;
/** Characters of paths of one frame with surplus entries. */
export const SURPLUS_FRAME_CHARACTERS = 64 * KIB;
export const MAX_FILTER_RULES = 1_000;
/** Characters of all patterns of a cast, so that they fit into an invitation. */
export const MAX_FILTER_CHARACTERS = 64 * KIB;
/** Smaller files that changed are sent whole: asking for their blocks costs about as much. */
export const DELTA_FILE_BYTES = 1024 * KIB;
/** Size of the blocks in which a large file that changed is compared; files above 4 GiB have larger ones. */
export const DELTA_BLOCK_BYTES = 64 * KIB;
/** Most blocks of a file, so that their hashes take at most 1 MiB at each end. */
export const MAX_DELTA_BLOCKS = 65_536;
/** Most blocks of all files of a cast: the sender keeps a bit of each for each receiver. Further files are sent whole. */
export const MAX_CAST_DELTA_BLOCKS = 2 ** 22;
export const DELTA_HASH_BYTES = 16;
/** Most hashes in a frame, and most bytes that they are of, unless it is one block. */
export const MAX_FRAME_HASHES = 2048;
export const FRAME_HASHED_BYTES = 128 * MIB;
/** Most entries of one frame that reports files which could not be built. */
export const MAX_UNBUILT_IN_FRAME = 10_000;
/** Bytes of the header of a file in one frame; as base64 they fit into it. */
export const HEAD_FRAME_BYTES = 512 * KIB;
/** Largest range that one record lets receivers take from their older files, so that each step of a writer is short. */
export const MAX_KEEP_BYTES = 16 * MIB;
/** A message ends after this many bytes of such ranges, so that receivers copy while the sender reads on. */
export const KEPT_MESSAGE_BYTES = 128 * MIB;
/** Shorter pieces are not compressed. */
export const LEAST_PACKED_BYTES = 512;
/** The first bytes of a piece, which are tried before the rest. */
export const PROBE_BYTES = 16 * KIB;
/** Most bytes of a file that are not tried, after pieces that did not shrink. */
export const MAX_PROBE_STEP_BYTES = 64 * MIB;
/** A piece that is compressed is at most a message divided by this, and at most `CHUNK_BYTES`. */
export const PIECES_PER_MESSAGE = 8;
/** A message ends after this many bytes before compression, so that receivers write while the sender reads on. */
export const PACKED_MESSAGE_BYTES = 128 * MIB;
/** How long what an interrupted cast has left is kept. */
export const KEPT_DAYS_MS = 7 * 24 * 3600 * 1000;
/** How much interrupted casts may leave, unless another limit is given. */
export const DEFAULT_RESUME_LIMIT = '50%';
/** How often a temporary directory is touched, so that receivers in other containers and on other hosts see that it is in use. */
export const TOUCH_INTERVAL_MS = 60_000;
/**
 * A temporary directory from another container or host that was not touched for this time is abandoned. It is far longer than a
 * sender waits for a silent receiver (`MAX_STALL_TIMEOUT_MS`), and than the clocks of hosts differ.
 */
export const ABANDONED_MS = 24 * 3600 * 1000;
/** The same where that host seems to have started again since: another host may have its name. */
export const RESTARTED_MS = 10 * TOUCH_INTERVAL_MS;
/** How long a cast waits for interrupted ones to put their files away. */
export const ENDING_CASTS_MS = 5_000;
/** How long after a cast a receiver starts the threads of the next one. */
export const REFILL_DELAY_MS = 500;
/** Interval in which an idle receiver removes leftovers that are too old. */
export const EXPIRY_INTERVAL_MS = 6 * 3600 * 1000;
/** Most groups that a cast sends to one after the other, where receivers lack different entries. */
export const MAX_PHASES = 8;
/** Bytes that an entry costs beside its contents, for the plan of the groups. */
export const ENTRY_COST_BYTES = 256;
/** Bytes that could be sent to a receiver in the time in which another group forms. */
export const GROUP_COST_BYTES = 4 * MIB;
/** A connection without an invitation is closed after this time. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;
/** A sender that called a receiver longer ago calls again before it invites it: the receiver may have closed the connection. */
export const CALL_AGE_MS = HANDSHAKE_TIMEOUT_MS / 2;
/** What a receiver accepts at once: connections that proved the key but sent no invitation yet, and casts. */
export const MAX_HANDSHAKES = 64;
export const MAX_CASTS = 16;
/** How much longer than the sender a receiver waits for the mesh of a cast. */
export const JOIN_GRACE_MS = 30_000;
/** How long one end of a control connection waits until the other end has read the last frame. */
export const LAST_FRAME_TIMEOUT_MS = 2_000;
/** A writer's thread that was asked to end and has done nothing for this long is taken to hang on its disk. */
export const WRITER_HANGS_MS = 10_000;
/** How long the connection of a process may stay open after the group has reported that process as failed. */
export const LOSS_GRACE_MS = 1_000;

/** Id of a cast's first group; each group of survivors has the next one. */
export const FIRST_GROUP_ID = 1;
export const SENDER_ID = 0;
/** A member is dropped when this many groups failed because of it while its control connection was open. */
export const MAX_BLAMES = 2;

export const MAX_NAME_BYTES = 255;
export const MAX_PATH_BYTES = 4096;
export const MAX_ENTRIES = 0x7fff_ffff;
/** Bytes read and hashed at a time, so that the bytes are still in the cache when they are hashed. */
export const CHUNK_BYTES = 1024 * KIB;
/** Size of the pieces in which sparse files are searched for zeros. */
export const HOLE_BYTES = 16 * KIB;
/** Most files that wait for their sync before they get their names: each keeps a descriptor open. */
export const MAX_UNSYNCED_FILES = 256;
/** Most bytes of complete files without a name on a disk that needs the room of the files which they replace. */
export const REPLACED_AHEAD_BYTES = 16 * MIB;
/** A sync of an incomplete file starts when this much was written since the last, so that its last sync is short. */
export const EARLY_SYNC_BYTES = 32 * MIB;
/** Most bytes of an incomplete file that are written while its previous sync still runs. */
export const MAX_UNSYNCED_BYTES = 128 * MIB;
/** Directories that are synced concurrently. */
export const DIRECTORIES_SYNCED_AT_ONCE = 8;
/** Open directories the writer keeps. */
export const MAX_OPEN_DIRECTORIES = 128;
export const MAX_PROBLEMS_KEPT = 500;
/** Longer messages of problems are clipped, so that all that are kept fit into a frame. */
export const MAX_PROBLEM_CHARACTERS = 400;

/** The mode bits that are kept: not set-user-id and set-group-id, as the owner differs. */
export const MODE_MASK = 0o777;
export const TEMPORARY_PREFIX = '.rdmc-cast-';

/** The port of `serveFiles` unless another one is given. */
export const DEFAULT_SERVE_PORT = 7412;
/** Largest piece of a file that is pulled: the unit that is hashed, and that a fetcher has or lacks. */
export const PULL_PIECE_BYTES = 1024 * KIB;
/** Most pieces of a pull: 16 TiB of large files. Each fetcher costs the server a byte for each. */
export const MAX_PULL_PIECES = 2 ** 24;
/** Largest message of a pull, and the least size of messages: a fetcher joins between two messages. */
export const MAX_PULL_MESSAGE_BYTES = 8 * MIB;
export const MIN_PULL_MESSAGE_BYTES = 2 * MIB;
/** Most hashes of pieces in a frame, and most bytes of a set of pieces in a frame. */
export const PULL_HASHES_IN_FRAME = 8192;
export const PULL_SET_BYTES = 256 * KIB;
/** Names that a server serves at once; each has a thread, and its fetchers form one cast. */
export const MAX_SWARMS = 16;
/** A fetcher is dropped after this many messages that were not those of the server when they arrived. */
export const MAX_BROKEN_MESSAGES = 8;
/** The fetchers of a run are dropped after this many runs in succession that failed without a known cause. */
export const MAX_FAILED_RUNS = 3;
/** Incomplete files that a fetcher keeps open. */
export const MAX_OPEN_PULL_FILES = 64;
/** Most of them whose early syncs run at once: those cannot be closed. */
export const MAX_EARLY_PULL_SYNCS = 16;
/** How long a fetcher, or the sender of a gathering cast, waits before it calls again an end that did not answer. */
export const CALL_AGAIN_MS = 500;
