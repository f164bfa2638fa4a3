/**
 * Mapped files of the shared-memory file system, as lines of /proc/PID/maps: they would outlive a process that is killed.
 * @param pid default: this process; no lines, where the process has ended
 */
export function namedSharedMemory(pid?: number | 'self'): string[];
