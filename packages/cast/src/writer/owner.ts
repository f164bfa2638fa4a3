import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** The file in a temporary directory that says which process it belongs to. */
export const OWNER_FILE = 'owner';

interface Owner {
  readonly pid: number;
  /** When that process began, in the kernel's ticks: numbers of processes come again. */
  readonly started: string;
  /** Boot, host and space of process numbers in which the number means something. */
  readonly scope: string;
}

export function describeOwner(): string {
  return JSON.stringify({
    pid: process.pid,
    started: startOf(process.pid) ?? '',
    scope: ownScope(),
  } satisfies Owner);
}

/** Whether the process a temporary directory belongs to is gone for sure. */
export function isOwnerGone(text: string): boolean {
  let owner: Partial<Owner>;
  try {
    owner = JSON.parse(text) as Partial<Owner>;
  } catch {
    return false;
  }
  const { pid, started, scope } = owner ?? {};
  if (!Number.isSafeInteger(pid) || typeof started !== 'string' || typeof scope !== 'string') return false;
  // Another host that shares this directory, or another container, is not to be judged from here.
  const [boot, ...place] = scope.split(' ');
  const [ownBoot, ...ownPlace] = ownScope().split(' ');
  if (place.join(' ') !== ownPlace.join(' ')) return false;
  return boot !== ownBoot || startOf(pid!) !== started;
}

function startOf(pid: number): string | undefined {
  try {
    // The name, in brackets, may contain anything; the start is the 20th field behind it.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

function ownScope(): string {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  return `${boot} ${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
}
