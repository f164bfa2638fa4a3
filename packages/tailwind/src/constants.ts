/** The numbers of this package that are not part of the log format. Bytes and milliseconds, as the names say. */

export const DEFAULT_SEGMENT_BYTES = 8 * 1024 * 1024;
export const MIN_SEGMENT_BYTES = 4096;
export const MAX_SEGMENT_BYTES = 1024 * 1024 * 1024;

/** Buffers of a backup that may be open or unflushed at once. */
export const DEFAULT_BUFFERS = 16;
export const MAX_BUFFERS = 4096;

/** How long a flush that failed waits before it is tried again. */
export const FLUSH_RETRY_MS = 500;

/** Threads that scan segments. */
export const MAX_SCAN_THREADS = 4;
export const SCAN_THREAD_IDLE_MS = 5_000;
