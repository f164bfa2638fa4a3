// CPU time of the soft device's native threads, which stand for the NIC: over TCP they move all bytes.
import { readdirSync, readFileSync } from 'node:fs';

const THREADS = new Set(['rdmc-nic', 'rdmc-service']);
const TICKS_PER_SECOND = 100;

/** Seconds so far, of this process; to a hundredth. */
export function nicSeconds() {
  let ticks = 0;
  for (const task of readdirSync('/proc/self/task')) {
    let stat;
    try {
      stat = readFileSync(`/proc/self/task/${task}/stat`, 'utf8');
    } catch {
      continue;
    }
    const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
    if (!THREADS.has(name)) continue;
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks / TICKS_PER_SECOND;
}
