import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { arch, availableParallelism, loadavg, platform, release, totalmem } from 'node:os';
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
