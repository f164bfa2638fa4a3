import { writeFileSync } from 'node:fs';

/** The name of the worker's thread; the kernel keeps 15 characters. */
export const THREAD_NAME = 'rdmc-dataplane';

/**
 * Gives the calling thread a name that `top -H`, `perf` and `/proc/PID/task/TID/comm` show; all threads of
 * Node.js may be named `node`. The name is for people only: if the system refuses it, the thread keeps its old name.
 */
export function nameThisThread(name: string): void {
  try {
    writeFileSync('/proc/thread-self/comm', name);
  } catch {
    // /proc is missing, or not writable.
  }
}
