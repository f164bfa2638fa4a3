// Processor time of processes by kind of thread.
import { readdirSync, readFileSync } from 'node:fs';

/** `main`: the threads of the applications; `worker`: of the data planes; `device`: of the soft device; `others`: V8's. */
export const PARTS = ['main', 'worker', 'device', 'others'];

/** The part to which a thread belongs: the first thread of a process is that of the application. */
function partOf(pid, task, name) {
  if (task === String(pid)) return 'main';
  if (name.startsWith('rdmc-nic') || name.startsWith('rdmc-service')) return 'device';
  return name.startsWith('rdmc') ? 'worker' : 'others';
}

/** Seconds of processor time of the threads of these processes, by part. */
export function cpuOf(pids) {
  const seconds = Object.fromEntries(PARTS.map((part) => [part, 0]));
  for (const pid of pids) {
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      try {
        const name = readFileSync(`/proc/${pid}/task/${task}/comm`, 'utf8').trim();
        const [nanoseconds] = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ');
        seconds[partOf(pid, task, name)] += Number(nanoseconds) / 1e9;
      } catch {
        // A thread that has ended meanwhile.
      }
    }
  }
  return seconds;
}
