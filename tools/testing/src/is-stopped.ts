import { readdirSync, readFileSync } from 'node:fs';

/** Whether all threads of a process are stopped: after SIGSTOP each of them stops when it is scheduled next. */
export function isStopped(pid: number): boolean {
  const stats = readdirSync(`/proc/${pid}/task`).map((task) =>
    readFileSync(`/proc/${pid}/task/${task}/stat`, 'latin1'),
  );
  return stats.every((stat) => stat.slice(stat.lastIndexOf(')')).startsWith(') T'));
}
