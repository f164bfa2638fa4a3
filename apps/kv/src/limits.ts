/** The numbers of this package. Names have the unit: bytes or milliseconds. */

/** Redis Cluster's. */
export const SLOTS = 16_384;

/** A longer bulk string is not valid in Redis either: the connection ends. */
export const MAX_DECLARED_BULK_BYTES = 512 * 1024 * 1024;
/** A key or value: it fits into an append of a log with segments of 8 MiB, with its headers. */
export const MAX_BULK_BYTES = 1024 * 1024;
export const MAX_INLINE_BYTES = 64 * 1024;
export const MAX_ARGUMENTS = 128 * 1024;
/** All arguments of one command together. */
export const MAX_COMMAND_BYTES = 16 * 1024 * 1024;
/** Before AUTH: a command's arguments, and its bytes. Any AUTH or HELLO fits. */
export const MAX_UNAUTHENTICATED_ARGUMENTS = 10;
export const MAX_UNAUTHENTICATED_COMMAND_BYTES = 16 * 1024;
/** Of replies that a client has not read which never gave the password; beyond that it is disconnected. */
export const MAX_UNAUTHENTICATED_OUTPUT_BYTES = 16 * 1024;

/** All replies of one transaction together: a server must be able to send them to another one. */
export const MAX_EXEC_REPLY_BYTES = 16 * 1024 * 1024;

/** Of a connection, by CLIENT SETNAME. */
export const MAX_NAME_BYTES = 256;
/** Of a pattern of KEYS and SCAN. */
export const MAX_PATTERN_BYTES = 1024;
/** Steps of matching that one command may take: about a second … */
export const MAX_MATCH_STEPS = 10_000_000;
/** … and after so many of them other clients have a turn. */
export const MATCH_STEPS_PER_TURN = 1_000_000;

export const DEFAULT_MAX_CLIENTS = 10_000;
/** How long a client may take for the handshake of TLS. */
export const TLS_HANDSHAKE_MS = 10_000;
/** Bytes of unfinished commands of all clients together; beyond that a client is disconnected. */
export const MAX_PENDING_INPUT_BYTES = 256 * 1024 * 1024;
/** With more bytes of replies, wherever they are made, no command of a client is run until it has read replies … */
export const PAUSE_OUTPUT_BYTES = 1024 * 1024;
/** … and beyond this it is disconnected: one reply can be large. */
export const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;
/** Clients' bytes are read into a memory of this size, as many at once at most. */
export const SHARED_INPUT_BYTES = 64 * 1024;
/** How long a client may take to end its side of a connection whose last reply has been sent. */
export const CLIENT_END_MS = 1000;
/** Replies of one client that are sent at once and are together at most this long are copied into one piece of memory. */
export const COPIED_OUTPUT_BYTES = 16 * 1024;
/** Commands of one client that wait for other servers; then its input is not read. */
export const PAUSE_UNANSWERED = 1024;
/** Bytes of one client's commands that wait for other servers, likewise. */
export const PAUSE_FORWARDED_BYTES = 4 * 1024 * 1024;
/** The length that is expected of a reply that may be long, as long as none has come. */
export const LONG_REPLY_BYTES = 256 * 1024;
/** The expected length decreases by this share with each reply that is shorter. */
export const LONG_REPLY_DECAY = 1 / 8;
/** So many bytes of a reply are as much work as a step of matching. */
export const REPLY_BYTES_PER_STEP = 32;

/** Keys that one step of FLUSHDB removes: some milliseconds; then others have a turn. */
export const FLUSH_STEP_KEYS = 2000;

/** Keys that leave the index before others have a turn: some milliseconds. */
export const FORGET_STEP_KEYS = 2000;

/** Replies of one turn share memory in slabs of this size. */
export const SLAB_BYTES = 64 * 1024;

/** Commands for slots without a server wait this long, and this number of bytes of them. */
export const DEFAULT_SLOT_WAIT_MS = 30_000;
export const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/** Bytes of one append; a turn with more makes several appends. */
export const MAX_BATCH_BYTES = 1024 * 1024;

/** Of SLOWLOG, as Redis's: microseconds from which on a command is slow, and the commands that are kept. */
export const DEFAULT_SLOW_LOG_US = 10_000;
export const DEFAULT_SLOW_LOG_COMMANDS = 128;

/** Expired keys are looked for this often, so many at a time. */
export const EXPIRE_SWEEP_MS = 100;
export const EXPIRE_SWEEP_KEYS = 500;

export const DEFAULT_PORT = 6379;
export const DEFAULT_REPLICAS = 3;
/** Told to the coordinator, and given to the log and the backup. */
export const DEFAULT_SEGMENT_BYTES = 8 * 1024 * 1024;

/** Recovered entries are written, and leftovers removed, in appends of about this size … */
export const TAKEOVER_APPEND_BYTES = 256 * 1024;
/** … of which so many may wait for their acknowledgement. */
export const TAKEOVER_APPENDS = 8;
/** The parts of a dead log are read into memory in pieces of this size. */
export const PART_MEMORY_BYTES = 16 * 1024 * 1024;
/**
 * Of a string that is read from the log, or that a takeover leaves packed, with its key and headers: each read copies it, and a
 * command waits while the keys of its slot are unpacked. Larger ones are in the heap, where there are few of them.
 */
export const MAX_INDEXED_BYTES = 4096;
/** Keys of a slot that stay in the bytes of a takeover until one is asked for: a command waits for all of them, for about 3 ms. */
export const MAX_PACKED_KEYS = 2048;
/** The others are unpacked later, beginning so long after a takeover, in steps of this time; a rest of so many times it follows each. */
export const UNPACK_DELAY_MS = 1000;
export const UNPACK_STEP_MS = 0.5;
export const UNPACK_REST = 3;
/** A frame between servers: full beyond the first, refused beyond the second. */
export const FULL_FRAME_BYTES = 24 * 1024 * 1024;
export const MAX_PEER_FRAME_BYTES = 64 * 1024 * 1024;
/** A run of replies to another server is cut beyond this … */
export const PEER_RUN_BYTES = 1024 * 1024;
/** … and with more unread bytes no request of that server is run. */
export const PEER_WINDOW_BYTES = 4 * 1024 * 1024;
/** With so many unanswered requests at other servers, further ones are collected … */
export const PEER_BUSY_REQUESTS = 8;
/** … for so many turns of the event loop, at most, … */
export const PEER_COLLECT_TURNS = 40;
/** … until they are this share of those that are usually on their way or collected, which decreases by this share with each frame. */
export const PEER_COLLECT_SHARE = 1 / 2;
export const PEER_USUAL_DECAY = 1 / 16;
/** Requests in one frame. */
export const MAX_FRAME_REQUESTS = 4096;
/** Commands up to this length are copied into the frame's memory, which is allocated in pieces of this size. */
export const COPIED_REQUEST_BYTES = 4096;
export const REQUEST_PIECE_BYTES = 64 * 1024;
/** Pieces of memory in one frame between servers. */
export const MAX_FRAME_PARTS = 8192;
/** Bytes of commands that may wait for the answers of one other server. */
export const MAX_LINK_BYTES = 256 * 1024 * 1024;
/** The wait before a connection between servers that broke is made again. */
export const PEER_REDIAL_MS = 100;
/** Numbers that one write to the coordinator's store reserves. */
export const NUMBERS_AT_ONCE = 64;
/** A hand-over needs so many after its own, with those of a cancellation. */
export const NUMBERS_OF_A_HANDOVER = 4;

/** Slots that are handed over at a time … */
export const HANDOVER_SLOTS = 64;
/** … in frames of about this size: the target has each durably before the next one is sent. */
export const HANDOVER_FRAME_BYTES = 16 * 1024;
/** Commands have a turn when entries were copied, or applied, for so long. */
export const HANDOVER_STEP_MS = 0.5;
/** Frames of changes, at most, before the source stops although there are many. */
export const HANDOVER_ROUNDS = 64;
/** After each frame of a copy, and after each hand-over, comes a rest of so many times the time that it took, at most this. */
export const HANDOVER_REST = 3;
export const HANDOVER_MAX_REST_MS = 100;
/**
 * Replicas of a drained server are made again elsewhere by one server after the other: each begins so long after the one before, and
 * the last one at most so long after the first. Copies and their checks beside commands make these late.
 */
export const RETIRE_TURN_MS = 500;
export const RETIRE_SPREAD_MS = 5_000;
/** How long one request of a hand-over may take before the hand-over fails, and the whole hand-over. */
export const HANDOVER_TIMEOUT_MS = 30_000;
export const HANDOVER_TOTAL_MS = 600_000;
/** How long slots may be without a server before a source gives its hand-over up, at first and at most. */
export const HANDOVER_STOP_MS = 1000;
export const HANDOVER_STOP_MAX_MS = 8000;
/** The wait before a source that has stopped asks the coordinator again. */
export const SETTLE_RETRY_MS = 100;
/** The wait before slots are handed over again where that failed. */
export const HANDOVER_RETRY_MS = 2000;
/** A server whose log would be fuller than this does not get further slots. */
export const FULL_PERCENT = 80;
/** How long a takeover may take before it is tried again, and the wait before that. */
export const TAKEOVER_TIMEOUT_MS = 600_000;
export const TAKEOVER_RETRY_MS = 500;
/** The wait before a request to the coordinator that it could not answer is repeated. */
export const REGISTER_RETRY_MS = 500;
/** How long a server that begins asks backups that refuse its log: they may find the coordinator up to 6.3 s later than it. */
export const BACKUPS_WAIT_MS = 10_000;
/**
 * How long a server that starts asks for its admission: a new coordinator waits for the servers that run, and may be followed. Longer
 * than one request (30 s): where the coordinator is too busy to answer in that time, the server asks again.
 */
export const ENLIST_WAIT_MS = 45_000;
/** How long servers that run may take to find a coordinator that was started again. They call it at most 6.3 s apart. */
export const DEFAULT_RETURN_MS = 20_000;
/** The same for servers that were connected with a standby when it took the lead: they register at once. */
export const STANDBY_ROLL_CALL_MS = 5_000;
/** The wait before a coordinator that got the lead, and no answer of etcd after that, tries again. */
export const SEAT_RETRY_MS = 500;
/** A coordinator that was connected with no server for so long gives up the lead where another one could lead. */
export const ISOLATION_MS = 10_000;
/** The waits of a coordinator that starts are counted in ticks, however late each comes. */
export const ROLL_CALL_TICK_MS = 250;
/** How soon the coordinator asks again for a server that is not here, at first and at last. */
export const ABSENCE_CHECK_MS = 100;
export const ABSENCE_CHECK_MAX_MS = 1_600;
/** A page of a snapshot has about this size. */
export const SNAPSHOT_PAGE_BYTES = 1024 * 1024;
/** Other work has a turn when so many bytes of a page are encoded: about a millisecond. */
export const SNAPSHOT_STEP_BYTES = 64 * 1024;
/** A page is a reply: one with a larger hash would have its client disconnected. */
export const MAX_SNAPSHOT_PAGE_BYTES = MAX_OUTPUT_BYTES - 1024;
/** A snapshot waits for slots without a server, and a restore for writes that are refused for now, so long at most. */
export const SNAPSHOT_WAIT_MS = 60_000;
export const SNAPSHOT_RETRY_MS = 200;
/** Commands of a restore that one server gets at once. */
export const RESTORE_BATCH_BYTES = 256 * 1024;
/**
 * The largest number of fields that one HSET of a restore writes, and the largest size of their log entries. One HSET is one append:
 * the limit of an append is 1 MiB with the smallest segments. Each field is two arguments.
 */
export const RESTORE_HSET_FIELDS = 1000;
export const RESTORE_HSET_BYTES = 256 * 1024;
/**
 * How long `kv admin status` waits for each member. Longer than the mesh's limit for silence: a busy member is not called silent, and
 * one that has stopped is lost before.
 */
export const STATUS_TIMEOUT_MS = 10_000;
/** How long an order of `kv admin` waits for a coordinator: the one that leads may have ended, and another one follows after a while. */
export const ORDER_WAIT_MS = 45_000;
/** How long `kv admin` waits for the answer to an order besides: a server's last request to the coordinator may take 30 s. */
export const ORDER_ANSWER_MS = ORDER_WAIT_MS + 30_000;
/** `--answer-seconds` of `kv admin`: longer than a server waits for other members before it answers. */
export const DEFAULT_ANSWER_SECONDS = 20;
/** What a server said of another one counts for so long: the coordinator may have been stopped before it read the answer. */
export const EVIDENCE_MS = 5_000;
