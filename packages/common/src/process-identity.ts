/**
 * Which process something belongs to, written down for processes that come later, perhaps on other hosts that share the
 * directory. As JSON:
 *
 *   {"pid":123,"startedAt":"4567","host":"alpha","pids":"pid:[4026531836]","boot":"UUID"}
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** In /proc/PID/stat, counted behind the program's name, which is in brackets and may contain anything. */
const [STATE_FIELD, STARTED_AT_FIELD] = [0, 19] as const;

/** Identifies a process also for other hosts, containers and boots. */
export interface ProcessIdentity {
  /** Its number in its namespace of process numbers. */
  readonly pid: number;
  /** The kernel's ticks since the boot: tells a process from a later one with its number. */
  readonly startedAt: string;
  /** Name of its host. */
  readonly host: string;
  /** The namespace of process numbers: in another one, such as another container, `pid` means nothing. */
  readonly pids: string;
  /** The kernel's UUID of this boot. */
  readonly boot: string;
}

/** This process. Linux only. */
export function ownIdentity(): ProcessIdentity {
  return {
    pid: process.pid,
    startedAt: startOf(process.pid) ?? '',
    host: hostname(),
    pids: readlinkSync('/proc/self/ns/pid'),
    boot: readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim(),
  };
}

/** What `ownIdentity` gave, out of JSON; undefined where it is anything else. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  let value: Partial<ProcessIdentity> | null;
  try {
    value = JSON.parse(text) as Partial<ProcessIdentity> | null;
  } catch {
    return undefined;
  }
  const { pid, startedAt, host, pids, boot } = value ?? {};
  if (!Number.isSafeInteger(pid) || pid! <= 0) return undefined;
  if (![startedAt, host, pids, boot].every((part) => typeof part === 'string')) return undefined;
  return { pid: pid!, startedAt: startedAt!, host: host!, pids: pids!, boot: boot! };
}

/**
 * Whether a process lives, as far as this one can tell: `elsewhere` is on another host or in another container, which
 * cannot be judged from here. The host is compared first: of another host, another boot says nothing.
 */
export function processState(
  other: ProcessIdentity,
  self: ProcessIdentity = ownIdentity(),
): 'alive' | 'gone' | 'elsewhere' {
  if (other.host !== self.host || other.pids !== self.pids) return 'elsewhere';
  if (other.boot !== self.boot) return 'gone';
  return startOf(other.pid) === other.startedAt ? 'alive' : 'gone';
}

/** Undefined when there is no such process, or nothing is left of it but its number. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[STATE_FIELD] === 'Z' ? undefined : fields[STARTED_AT_FIELD];
  } catch {
    return undefined;
  }
}
