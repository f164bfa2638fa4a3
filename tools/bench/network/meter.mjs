// CPU time and memory of what runs inside the hosts of a lab.
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { scratch } from './tools.mjs';

const SAMPLE_MS = 250;
const TICKS_PER_SECOND = 100;
// `time` counts every process that was waited for; the command's own standard error stays where it was.
const TIMED = 'TIMEFORMAT="%3U %3S"; to=$1; shift; exec 3>&2; { time "$@" 2>&3; } 2>"$to"';

/** Seconds a process and those of its children it has waited for have used. */
export function cpuOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND;
}

/** Seconds in which the machine's cores were not idle, kernel and interrupts included. */
export function machineBusySeconds() {
  const [user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'latin1')
    .split('\n')[0]
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND;
}

function peakMiB(pid) {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** The commands as they are. */
export const UNMEASURED = { wrap: (_host, command, args) => [command, args] };

/** Measures what is started through `wrap`, and the largest memory of a host's processes together. */
export class Meter {
  #folder = scratch('meter');
  #lab;
  #peaks = new Map();
  #timer;
  #busy = 0;
  #started = 0;

  constructor(lab) {
    this.#lab = lab;
  }

  /** The command and arguments that run this one and write down its CPU time. */
  wrap = (host, command, args) => {
    mkdirSync(join(this.#folder.path, host), { recursive: true });
    this.#started += 1;
    const file = join(this.#folder.path, host, String(this.#started));
    return ['bash', ['-c', TIMED, 'timed', file, command, ...args]];
  };

  /** Begins a measurement. */
  start() {
    for (const host of readdirSync(this.#folder.path))
      rmSync(join(this.#folder.path, host), { recursive: true });
    this.#peaks.clear();
    this.#busy = machineBusySeconds();
    this.#timer = setInterval(() => this.sample(), SAMPLE_MS);
  }

  sample() {
    for (const { name } of this.#lab.hosts) {
      const total = this.#lab.processes(name).reduce((sum, pid) => sum + peakMiB(pid), 0);
      this.#peaks.set(name, Math.max(this.#peaks.get(name) ?? 0, total));
    }
  }

  /** CPU seconds of what was wrapped, per host; memory per host; and the whole machine's busy seconds. */
  stop() {
    clearInterval(this.#timer);
    const machineSeconds = machineBusySeconds() - this.#busy;
    const cpu = this.#lab.hosts.map(({ name }) => {
      try {
        return readdirSync(join(this.#folder.path, name))
          .flatMap((file) =>
            readFileSync(join(this.#folder.path, name, file), 'latin1')
              .trim()
              .split(' '),
          )
          .reduce((sum, seconds) => sum + Number(seconds), 0);
      } catch {
        return 0;
      }
    });
    return { cpu, machineSeconds, peaksMiB: this.#lab.hosts.map(({ name }) => this.#peaks.get(name) ?? 0) };
  }
}
