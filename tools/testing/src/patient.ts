/**
 * Options of groups, logs and channels: how long the other side's device may be silent. On a busy machine the threads of many members
 * in one process wait for a processor for seconds.
 */
export const PATIENT = { retryTimeoutMs: 60_000 } as const;
