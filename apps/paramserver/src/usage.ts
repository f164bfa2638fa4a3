import { readdirSync, readFileSync } from 'node:fs';

/** Native threads of the soft device; over TCP they move all bytes, in place of a NIC. */
const DEVICE_THREADS = new Set(['rdmc-nic', 'rdmc-service']);
/** The unit of /proc/…/stat. */
const TICKS_PER_SECOND = 100;

/** CPU time in seconds. */
export interface Usage {
  /** Of all threads but the device's. */
  readonly cpu: number;
  readonly nic: number;
}

export function usageNow(): Usage {
  const { user, system } = process.cpuUsage();
  const nic = nicSeconds();
  return { cpu: (user + system) / 1e6 - nic, nic };
}

export function usageSince(before: Usage): Usage {
  const now = usageNow();
  return { cpu: now.cpu - before.cpu, nic: now.nic - before.nic };
}

function nicSeconds(): number {
  let ticks = 0;
  for (const task of readdirSync('/proc/self/task')) {
    const stat = statOf(task);
    const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
    if (!DEVICE_THREADS.has(name)) continue;
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks / TICKS_PER_SECOND;
}

function statOf(task: string): string {
  try {
    return readFileSync(`/proc/self/task/${task}/stat`, 'utf8');
  } catch {
    return '';
  }
}
