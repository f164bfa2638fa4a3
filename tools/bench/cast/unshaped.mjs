/**
 * The whole command `rdmc cast` from file to file within this machine, while receivers already run, with messages of several
 * sizes; beside an `nc | tee` chain over loopback, where `nc` is installed (Debian: netcat-openbsd).
 *
 *   node tools/bench/cast/unshaped.mjs [--mib 2048] [--members 2,3] [--rounds 5] [--messages 12,64] [--transport auto]
 *
 * With `--variants '--block-size 128KiB|--algorithm chain'`, casts with these options are compared instead.
 * Members count the sender. Files are in `--folder` (/dev/shm), so that no disk takes part; `--no-encrypt` casts without
 * encryption. All copies are compared with the source. Needs built packages.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeFile, sameFile } from '../network/files.mjs';
import { byTurns, ended, have, listens, MIB, median, nowSeconds, range, until } from '../network/tools.mjs';
import { RDMC, startReceiver } from './receiver.mjs';

const FIRST_PORT = 7500;

const { values } = parseArgs({
  options: {
    mib: { type: 'string', default: '2048' },
    members: { type: 'string', default: '2,3' },
    rounds: { type: 'string', default: '5' },
    messages: { type: 'string' },
    variants: { type: 'string' },
    transport: { type: 'string', default: 'auto' },
    folder: { type: 'string', default: '/dev/shm' },
    'no-encrypt': { type: 'boolean', default: false },
  },
});
const folder = mkdtempSync(join(values.folder, 'rdmc-bench-unshaped-'));
const source = join(folder, 'source');

/** Checks and removes the copies, so that every round writes new files. */
function take(copies) {
  for (const copy of copies) {
    if (!sameFile(source, copy)) throw new Error(`${copy} differs`);
    rmSync(copy);
  }
}

async function cast(to, copies, options) {
  const args = [RDMC, 'cast', source, '--to', to, '--transport', values.transport, '--quiet', ...options];
  const began = nowSeconds();
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const seconds = (await ended(child, 'rdmc cast')) - began;
  take(copies);
  return seconds;
}

/** Every member keeps what it hears and passes it on; seconds until the last one has closed its copy. */
async function chain(copies) {
  const ends = [];
  for (const index of range(copies.length).reverse()) {
    const last = index === copies.length - 1;
    const next = last ? '> "$1"' : `| tee "$1" | nc -N 127.0.0.1 ${FIRST_PORT + index + 1}`;
    const command = `set -o pipefail; nc -l 127.0.0.1 ${FIRST_PORT + index} ${next}`;
    const child = spawn('bash', ['-c', command, 'chain', copies[index]], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    ends.push(ended(child, `the chain's member ${index + 1}`));
    await until(() => listens(child.pid, FIRST_PORT + index), 'nc');
  }
  const began = nowSeconds();
  const root = spawn('bash', ['-c', `cat "$1" | nc -N 127.0.0.1 ${FIRST_PORT}`, 'chain', source], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  ends.push(ended(root, 'the root of the chain'));
  const seconds = Math.max(...(await Promise.all(ends))) - began;
  take(copies);
  return seconds;
}

function castsOf() {
  const common = values['no-encrypt'] ? ['--no-encrypt'] : [];
  if (values.variants !== undefined)
    return values.variants
      .split('|')
      .map((each) => [`rdmc cast ${each}`, [...common, ...each.split(' ').filter((word) => word !== '')]]);
  const sizes = values.messages?.split(',');
  if (sizes === undefined) return [['rdmc cast', common]];
  return sizes.map((mib) => [`rdmc cast, ${mib} MiB messages`, [...common, '--message-size', `${mib}MiB`]]);
}

async function compare(members, rounds) {
  const directories = range(members - 1).map((number) => join(folder, `receiver-${number}`));
  const started = [];
  try {
    for (const directory of directories) {
      mkdirSync(directory);
      started.push(await startReceiver(directory, ['--transport', values.transport, '--no-fsync']));
    }
    const to = started.map(({ address }) => address).join(',');
    const copies = directories.map((directory) => join(directory, 'source'));
    const list = new Map(castsOf().map(([name, options]) => [name, () => cast(to, copies, options)]));
    if (have(['nc'])) list.set('nc | tee', () => chain(directories.map((each) => join(each, 'chained'))));
    // The first round warms up.
    await byTurns(list, 1);
    return await byTurns(list, rounds);
  } finally {
    const ends = started.map(({ child }) => once(child, 'exit'));
    for (const { child } of started) child.kill('SIGTERM');
    await Promise.all(ends);
    for (const directory of directories) rmSync(directory, { recursive: true, force: true });
  }
}

try {
  makeFile(source, Number(values.mib) * MIB);
  for (const members of values.members.split(',').map(Number)) {
    const times = await compare(members, Number(values.rounds));
    const rival = times.has('nc | tee') ? median(times.get('nc | tee')) : undefined;
    for (const [name, all] of times) {
      const [middle, least, most] = [median(all), Math.min(...all), Math.max(...all)];
      const ratio = rival ? `, nc | tee takes ${(rival / middle).toFixed(2)} times as long` : '';
      console.log(
        `n = ${members}, ${values.mib} MiB, ${name}: ${middle.toFixed(2)} s (${least.toFixed(2)}-${most.toFixed(2)})${ratio}`,
      );
    }
  }
} finally {
  rmSync(folder, { recursive: true });
}
