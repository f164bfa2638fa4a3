// The command `rdmc cast` with and without --compress, on slow links, while receivers run: contents that shrink, contents that do
// not. CPU seconds are those of the sender's process.
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { haveCast, runningCast } from '../rivals/cast.mjs';
import { byTurns, MIB, median, round3, say } from '../tools.mjs';
import { filesFor, withLab } from '../with-lab.mjs';

/** Lines of a log: numbers and words that differ from line to line. */
function logLines(bytes) {
  const words = Array.from({ length: 400 }, () => randomBytes(4).toString('hex'));
  const lines = [];
  for (let length = 0, at = 0; length < bytes; at += 1) {
    const pick = (factor) => words[(at * factor) % words.length];
    const line = `2026-11-24T06:${String(at % 3600).padStart(4, '0')} host-${at % 97} ${pick(7)} ${pick(31)} took ${(at * 7919) % 100_003} us\n`;
    lines.push(line);
    length += line.length;
  }
  return Buffer.from(lines.join('')).subarray(0, bytes);
}

const CONTENTS = { 'a log': logLines, 'random bytes': randomBytes };

function write(path, make, bytes) {
  const file = openSync(path, 'w');
  for (let left = bytes; left > 0; left -= 8 * MIB) writeSync(file, make(Math.min(left, 8 * MIB)));
  closeSync(file);
}

function compare(n, mib, contents, { rate, rounds }) {
  return withLab({ hosts: n, rate }, async (lab, hosts) => {
    const files = filesFor(hosts, MIB);
    write(files.source, CONTENTS[contents], mib * MIB);
    const received = (folder) => join(folder, basename(files.source));
    const running = await runningCast(lab, hosts, files.folderOf);
    const run = (options) => async () => {
      for (const host of hosts.slice(1)) rmSync(received(files.folderOf(host)), { force: true });
      const seconds = await running.cast(files.source, options);
      files.check(received);
      return seconds;
    };
    try {
      const list = new Map([
        ['stream', async () => (await lab.goodput(hosts[0], hosts[1], mib * MIB)).seconds],
        ['plain', run([])],
        ['--compress', run(['--compress'])],
      ]);
      await run([])();
      const times = await byTurns(list, rounds);
      const plain = median(times.get('plain'));
      return [...times].map(([name, all]) => {
        const seconds = median(all);
        const row = {
          rate,
          contents,
          MiB: mib,
          n,
          name,
          seconds: round3(seconds),
          toPlain: round3(seconds / plain),
        };
        say(JSON.stringify(row));
        return row;
      });
    } finally {
      await running.end();
      files.remove();
    }
  });
}

export async function compress(options) {
  const { members = [4], mib = [16] } = options;
  if (!haveCast()) throw new Error('build first: npm run build');
  const rows = [];
  for (const size of mib)
    for (const n of members)
      for (const contents of Object.keys(CONTENTS)) rows.push(...(await compare(n, size, contents, options)));
  return rows;
}
