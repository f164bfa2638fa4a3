import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { KILL_POLL_MS, KILL_WAIT_MS, NAMESPACE_DIR } from './constants.js';

/** The kernel's start time of a process, which distinguishes it from a later one with the same id; undefined if it has ended. */
export function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in brackets may contain anything, also brackets. After it, the state is field 3 and the start is field 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function identity(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

/** Processes that run in any of these network namespaces. */
export function processesIn(namespaces: readonly string[]): number[] {
  const wanted = new Set(namespaces.map((name) => identity(join(NAMESPACE_DIR, name))));
  wanted.delete(undefined);
  if (wanted.size === 0) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && wanted.has(identity(`/proc/${name}/ns/net`)))
    .map(Number);
}

/** Sends a signal; a process that has ended already is not an error. */
export function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/**
 * Kills every process of these namespaces and the given ones, and waits (blocking) until they have ended, or KILL_WAIT_MS in
 * pauses. Time in which this process does not run does not count: the killed ones may not run then either.
 */
export function killAll(namespaces: readonly string[], others: readonly number[] = []): void {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  signal(others, 'SIGKILL');
  // Repeatedly: a process may have started another one meanwhile.
  for (let waitedMs = 0; waitedMs < KILL_WAIT_MS; waitedMs += KILL_POLL_MS) {
    const found = processesIn(namespaces);
    if (found.length === 0) return;
    signal(found, 'SIGKILL');
    Atomics.wait(sleeper, 0, 0, KILL_POLL_MS);
  }
}
