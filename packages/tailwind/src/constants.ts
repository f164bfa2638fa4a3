/** The numbers of this package that are not part of the log format. Bytes and milliseconds, as the names say. */

export const DEFAULT_SEGMENT_BYTES = 8 * 1024 * 1024;
export const MIN_SEGMENT_BYTES = 4096;
export const MAX_SEGMENT_BYTES = 1024 * 1024 * 1024;

/** Buffers of a backup that may be open or unflushed at once. */
export const DEFAULT_BUFFERS = 16;
export const MAX_BUFFERS = 4096;

/** Limit of one member at a backup: queue pairs, and replicas loaded for a recovery. */
export const MAX_CONNECTIONS_PER_MEMBER = 64;
export const MAX_LOADS_PER_MEMBER = 64;

/** A backup's disk is measured in pieces of this size, for this long. */
export const MEASURE_CHUNK_BYTES = 1024 * 1024;
export const MEASURE_MS = 500;
/** The speed of flushes is that of the last ones of this size or more, once there were some. */
export const FLUSH_SPEED_MIN_BYTES = 1024 * 1024;
export const FLUSH_SPEED_WINDOW = 16;
export const FLUSH_SPEED_MIN_FLUSHES = 4;
export const MAX_POWER_HOLD_SECONDS = 3600;

/** Delay before a failed flush is tried again. */
export const FLUSH_RETRY_MS = 500;

/** Threads that scan segments. */
export const MAX_SCAN_THREADS = 4;
/** Longer than a lease and its margin: threads that start when a member is lost are there for the recovery of its log. */
export const SCAN_THREAD_IDLE_MS = 30_000;
/** Scans of each thread for nothing, before a recovery: the compiler sees the end of a loop only when it was there once. */
export const REHEARSALS = 2;
/** So much is scanned without a thread: a fraction of a millisecond. */
export const SCAN_AT_ONCE_BYTES = 128 * 1024;
/** Replicas in memory for a scan, one for each thread and as many that are copied meanwhile. */
export const SCAN_BUFFERS = 2 * MAX_SCAN_THREADS;

/** A further replica of an open segment is copied in steps of this size: appends go out between them. */
export const JOIN_STEP_BYTES = 256 * 1024;

/** Outstanding requests of one queue pair. */
export const MAX_OUTSTANDING = 256;
/** How long a backup's device may be silent before its replicas count as lost. */
export const DEFAULT_RETRY_TIMEOUT_MS = 2_000;

/** The RPC scheme: data bytes of one message, and messages to one backup that may be unanswered. */
export const RPC_DATA_BYTES = 64 * 1024;
export const RPC_WINDOW = 32;

export const DEFAULT_REPLICAS = 3;
export const MAX_REPLICAS = 16;
/** Unacknowledged groups of one log; appends that arrive meanwhile form one group. */
export const DEFAULT_WINDOW = 4;
export const DEFAULT_MAX_SEGMENTS = 128;
/** Bytes of appends that may wait for a segment. */
export const DEFAULT_MAX_QUEUED_BYTES = 64 * 1024 * 1024;
/** Bytes of a survivor that do not hold entries: its header, and the checksums of some groups. */
export const SURVIVOR_OVERHEAD_BYTES = 512;
/** The least `maxSegments` of a log with a cleaner, which reserves some of them. */
export const MIN_CLEANED_SEGMENTS = 10;
/**
 * How often a full log asks for every entry whether it is live, when the known dead entries leave nothing to clean.
 */
export const CLEANER_SURVEY_INTERVAL_MS = 5_000;
/** Estimated memory of a waiting entry beside its bytes: its objects, arrays and views. */
export const ENTRY_HOLD_BYTES = 256;
/** The largest entry is this fraction of a segment. */
export const ENTRIES_PER_SEGMENT = 4;
/** Room at the beginning of a segment for its header, its digest and their checksum. */
export const OPENING_OVERHEAD_BYTES = 12 + 24 + 12 + 16;

/** How long a new log waits for the backups to say whether its id was used before. */
export const CLAIM_TIMEOUT_MS = 5_000;
/** How often a backup is asked to free a stale replica, and the delay between two requests. */
export const FREE_ATTEMPTS = 20;
export const FREE_RETRY_MS = 500;
/** How often a backup asks the coordinator which logs were recovered, of those that it has replicas or claims of. */
export const SWEEP_INTERVAL_MS = 30_000;
export const MAX_SWEEP_INTERVAL_MS = 3_600_000;
/** Delay before a log asks backups again that did not have a buffer, or were too few. */
export const BACKUP_RETRY_MS = 50;
/** For this long, a backup that failed a request is asked after the others. */
export const SUSPECT_MS = 5_000;

export const DEFAULT_LEASE_MS = 2_000;
export const DEFAULT_LEASE_MARGIN_MS = 200;
/** A recovery waits for the end of a lease within one request of the mesh, which waits 30 s for its answer. */
export const MAX_LEASE_MS = 20_000;
export const MAX_LEASE_MARGIN_MS = 5_000;
/** How often a recovery that waits for the end of a lease reads the clock; timers stand still during a suspension. */
export const LEASE_POLL_MS = 20;
/** Number of renewals within the duration of a lease. */
export const LEASE_RENEWALS = 4;

/** Segments that a recovery fetches at once, per backup that takes part. */
export const RECOVERY_SEGMENTS_PER_BACKUP = 2;
/** Numbers that a divider may give entries: 0 to this, exclusive. */
export const MAX_SLOTS = 65_536;
/** Requests of one heir to one backup: one is scanned while another is read. */
export const PULL_WINDOW = 3;
/** Divided segments that a backup keeps for heirs that have not read them; beyond that it may scan one again. */
export const MAX_DIVIDED_SEGMENTS = 32;
