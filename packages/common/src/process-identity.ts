/**
 * Which process something belongs to, written down for processes that come later, perhaps on other hosts that share the
 * directory. As JSON:
 *
 *   {"pid":123,"startedAt":"4567","host":"alpha","pids":"pid:[4026531836]","boot":"UUID","machine":"HASH"}
 *
 * Files of earlier versions have no `machine`.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { INITIAL_PIDS, machineHash } from './machine.js';

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
  /** Stays over boots, and differs between hosts of one name; empty where it is not known. */
  readonly machine: string;
}

/** This process. Linux only. */
export function ownIdentity(): ProcessIdentity {
  return {
    pid: process.pid,
    startedAt: startOf(process.pid) ?? '',
    host: hostname(),
    pids: readlinkSync('/proc/self/ns/pid'),
    boot: readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim(),
    machine: machineHash(),
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
  const { pid, startedAt, host, pids, boot, machine = '' } = value ?? {};
  if (!Number.isSafeInteger(pid) || pid! <= 0) return undefined;
  if (![startedAt, host, pids, boot, machine].every((part) => typeof part === 'string')) return undefined;
  return { pid: pid!, startedAt: startedAt!, host: host!, pids: pids!, boot: boot!, machine };
}

/**
 * Whether a process lives, as far as this one can tell: `elsewhere` is on another host or in another container, which
 * cannot be judged from here. Of another host, another boot says nothing.
 */
export function processState(
  other: ProcessIdentity,
  self: ProcessIdentity = ownIdentity(),
): 'alive' | 'gone' | 'elsewhere' {
  if (other.host !== self.host || other.pids !== self.pids) return 'elsewhere';
  if (other.boot !== self.boot) return isSameMachine(other, self) ? 'gone' : 'elsewhere';
  return startOf(other.pid) === other.startedAt ? 'alive' : 'gone';
}

/**
 * Whether processes of two boots are of one host. Names do not say it: hosts are cloned, or are all called `localhost`.
 * Of a container nothing says it: each boot numbers the namespaces anew, and many images contain a machine id.
 */
function isSameMachine(other: ProcessIdentity, self: ProcessIdentity): boolean {
  return self.pids === INITIAL_PIDS && self.machine !== '' && other.machine === self.machine;
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
