// What every benchmark here uses: medians, tables, folders, programs that must be installed.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DOWNLOAD } from '../../tasks/download.mjs';

export const MIB = 1 << 20;
export const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
/** From the least to the greatest: a skew, of the times at which receivers had a message. */
export const spanOf = (values) => Math.max(...values) - Math.min(...values);
export const round3 = (value) => (typeof value === 'number' ? Math.round(value * 1000) / 1000 : value);
export const say = (text) => process.stderr.write(`${text}\n`);
export const nowSeconds = () => Number(process.hrtime.bigint()) / 1e9;
/** What a group's name says of its relays. */
export const relayLabel = (relay) => (relay === 'worker' ? '' : `, relay ${relay}`);
export const range = (count, from = 0) => Array.from({ length: count }, (_, index) => from + index);

/** Debian packages of the rivals. */
const PACKAGES = {
  nc: 'netcat-openbsd',
  cc: 'gcc',
  mpirun: 'openmpi-bin',
  mpicc: 'libopenmpi-dev',
  'udp-sender': 'udpcast',
  sshd: 'openssh-server',
  scp: 'openssh-client',
  tar: 'tar',
};

/** The packages of these programs that are not installed. */
export function missing(programs) {
  const folders = `${process.env.PATH}:/usr/sbin:/sbin`.split(':');
  const absent = programs.filter((program) => !folders.some((folder) => existsSync(join(folder, program))));
  return [...new Set(absent.map((program) => PACKAGES[program]))];
}

/** Whether these programs are here; installs their packages where `install` allows it, and says so otherwise. */
export function have(programs, { install = false } = {}) {
  const packages = missing(programs);
  if (packages.length === 0) return true;
  if (install && process.getuid() === 0) {
    say(`installing ${packages.join(' ')}`);
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', ...packages], {
      ...DOWNLOAD,
      stdio: ['ignore', 2, 2],
    });
    if (missing(programs).length === 0) return true;
  }
  say(`left out, not installed: apt-get install -y --no-install-recommends ${packages.join(' ')}`);
  return false;
}

/** A folder in memory, so that no disk takes part; removed by `remove`. */
export function scratch(name) {
  const path = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), `netbench-${name}-`));
  process.once('exit', () => rmSync(path, { recursive: true, force: true }));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Waits until a condition holds; benchmarks that wait for ever are no use. */
export async function until(condition, what, timeoutMs = 20_000) {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms for ${what}`);
    await delay(5);
  }
}

/** Whether some socket of the process's network namespace listens at this TCP port. */
export function listens(pid, port) {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return ['tcp', 'tcp6'].some((table) => {
    try {
      return readFileSync(`/proc/${pid}/net/${table}`, 'latin1')
        .split('\n')
        .some((line) => new RegExp(`^ *\\d+: [0-9A-F]+:${hex} [0-9A-F]+:0000 0A`).test(line));
    } catch {
      return false;
    }
  });
}

/** Resolves with the time of a child's end; rejects when it fails. */
export function ended(child, what) {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      const at = nowSeconds();
      if (code === 0) resolve(at);
      else reject(new Error(`${what} ended with ${code ?? signal}`));
    });
  });
}

/** Everything a child prints. */
export async function output(child, what) {
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part) => {
    text += part;
  });
  const closed = new Promise((resolve) => child.stdout.once('close', resolve));
  await ended(child, what);
  await closed;
  return text;
}

/** Rows as a table for people. */
export function table(rows) {
  if (rows.length === 0) return '(nothing was measured)';
  const columns = [...new Set(rows.flatMap(Object.keys))];
  const cells = [columns, ...rows.map((row) => columns.map((column) => String(row[column] ?? '–')))];
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index].length)));
  const lines = cells.map(
    (line) => `| ${line.map((cell, index) => cell.padStart(widths[index])).join(' | ')} |`,
  );
  lines.splice(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`);
  return lines.join('\n');
}

/** Like Promise.all over work that is done one after another. */
export async function inTurn(list, work) {
  const results = [];
  for (const each of list) results.push(await work(each));
  return results;
}

/**
 * Every contestant once per round, by turns, so that all see the same machine. A round is its seconds, or several
 * figures by name. Returns the figures of all rounds by name.
 */
export async function byTurns(contestants, rounds) {
  const times = new Map();
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, run] of contestants) {
      const result = await run();
      const figures = typeof result === 'number' ? { [name]: result } : result;
      for (const [each, seconds] of Object.entries(figures)) {
        times.set(each, [...(times.get(each) ?? []), seconds]);
      }
    }
  }
  return times;
}

/** Medians of `byTurns`, each beside the plain stream and the `nc | tee` chain of the same rounds; and the skews of those that have some. */
export function comparisonRows(n, mib, times, skews = new Map()) {
  const stream = median(times.get('stream'));
  const nc = times.has('nc chain') ? median(times.get('nc chain')) : undefined;
  return [...times].map(([name, all]) => {
    const seconds = median(all);
    const row = {
      MiB: mib,
      n,
      name,
      seconds: round3(seconds),
      least: round3(Math.min(...all)),
      most: round3(Math.max(...all)),
      ...(skews.size > 0 && { skew: skews.has(name) ? round3(median(skews.get(name))) : undefined }),
      toStream: round3(seconds / stream),
      toChain: nc && round3(seconds / nc),
    };
    say(JSON.stringify(row));
    return row;
  });
}
