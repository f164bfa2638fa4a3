import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { root } from '../root.js';

const GIB = 2 ** 30;

/** This machine in one line. Its name is left out: records are public. */
export function thisMachine(): string {
  const memory = `${Math.round(totalmem() / GIB)} GiB`;
  const system = `${platform()} ${release().split(/[-+]/)[0]} ${arch()}`;
  return [
    processor(),
    `${availableParallelism()} cores`,
    memory,
    system,
    `Node.js ${process.versions.node}`,
  ].join(', ');
}

/** Today, in UTC. */
export function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/** The commit of this checkout, with a `+` for changes outside of the records; `unknown` outside of a checkout. */
export function thisCommit(): string {
  const commit = git('rev-parse', '--short=8', 'HEAD');
  if (commit === undefined) return 'unknown';
  const changed = git('status', '--porcelain', '--', ':!docs');
  return changed === '' ? commit : `${commit}+`;
}

/** Processes that want a processor, the mean of one minute. */
export function loadNow(): number {
  return loadavg()[0] ?? 0;
}

/** In which a machine that has other work shows it. */
const SAMPLE_MS = 500;

/** Percent of all processors that are busy now. The load average still has work of the last minutes in it. */
export async function busyPercent(): Promise<number> {
  const before = processorTimes();
  await delay(SAMPLE_MS);
  const after = processorTimes();
  return Math.round((100 * (after.busy - before.busy)) / Math.max(1, after.all - before.all));
}

function processorTimes(): { busy: number; all: number } {
  const times = cpus().map(({ times: each }) => each);
  const all = times.reduce((sum, { user, nice, sys, idle, irq }) => sum + user + nice + sys + idle + irq, 0);
  return { busy: all - times.reduce((sum, { idle }) => sum + idle, 0), all };
}

function processor(): string {
  const path = '/proc/cpuinfo';
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return /^model name\s*: (.*)$/m.exec(text)?.[1]?.trim() ?? 'unknown processor';
}

function git(...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}
