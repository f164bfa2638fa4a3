import { writeFileSync } from 'node:fs';

/** What the worker's thread is called; the kernel keeps 15 characters. */
export const THREAD_NAME = 'rdmc-dataplane';

/**
 * Gives the calling thread a name that `top -H`, `perf` and `/proc/PID/task/TID/comm` show: Node.js 20 calls all
 * its threads `node`. The name is for people; where the system does not let itself be told, nothing depends on it.
 */
export function nameThisThread(name: string): void {
  try {
    writeFileSync('/proc/thread-self/comm', name);
  } catch {
    // No /proc, or one that cannot be written.
  }
}
