/**
 * What syncing costs: casts of a file, or of a folder of small files, to a receiver that syncs and to one with `--no-fsync`,
 * by turns, beside a plain copy of the file (`dd`) with and without a sync of the copy.
 *
 *   node tools/bench/cast/syncing.mjs [--mib 1024] [--files 0] [--rounds 5] [--folder DIR] [--transport auto]
 *
 * The source is in /dev/shm, copies are in `--folder` (default: the temporary directory), which should be on a disk. Before
 * each copy the disk has written everything of the one before. `--files N` casts N files of up to 8 KiB instead.
 * Seconds are those of whole commands. Needs built packages.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { digestTree, makeFile, makeTree, sameFile } from '../network/files.mjs';
import { byTurns, ended, MIB, median, nowSeconds } from '../network/tools.mjs';
import { RDMC, startReceiver } from './receiver.mjs';

const { values } = parseArgs({
  options: {
    mib: { type: 'string', default: '1024' },
    files: { type: 'string', default: '0' },
    rounds: { type: 'string', default: '5' },
    folder: { type: 'string', default: tmpdir() },
    transport: { type: 'string', default: 'auto' },
  },
});
const files = Number(values.files);
const memory = mkdtempSync('/dev/shm/rdmc-bench-syncing-');
const disk = mkdtempSync(join(values.folder, 'rdmc-bench-syncing-'));
const source = join(memory, 'source');

async function command(program, ...args) {
  const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  await ended(child, program);
}

/** Seconds of a copy, which is compared and removed. */
async function timed(copy, work) {
  await command('sync');
  const began = nowSeconds();
  await work();
  const seconds = nowSeconds() - began;
  const same = files > 0 ? digestTree(source) === digestTree(copy) : sameFile(source, copy);
  if (!same) throw new Error(`${copy} differs`);
  rmSync(copy, { recursive: true });
  return seconds;
}

const receivers = [];

/** Casts to a receiver with these options. */
async function casts(name, options) {
  const directory = join(disk, name);
  mkdirSync(directory);
  const receiver = await startReceiver(directory, ['--transport', values.transport, ...options]);
  receivers.push(receiver);
  const args = [RDMC, 'cast', source, '--to', receiver.address, '--transport', values.transport, '--quiet'];
  return () => timed(join(directory, 'source'), () => command(process.execPath, ...args));
}

function copies(...options) {
  const copy = join(disk, 'copied');
  return () =>
    timed(copy, () => command('dd', `if=${source}`, `of=${copy}`, 'bs=1M', 'status=none', ...options));
}

try {
  if (files > 0) makeTree(source, files);
  else makeFile(source, Number(values.mib) * MIB);
  const list = new Map([
    ['rdmc cast', await casts('synced', [])],
    ['rdmc cast, --no-fsync', await casts('unsynced', ['--no-fsync'])],
  ]);
  if (files === 0) list.set('dd conv=fsync', copies('conv=fsync')).set('dd', copies());
  // The first round warms up.
  await byTurns(list, 1);
  for (const [name, all] of await byTurns(list, Number(values.rounds))) {
    const each = all.map((seconds) => seconds.toFixed(2)).join(', ');
    console.log(`${name}: ${median(all).toFixed(2)} s (${each})`);
  }
} finally {
  const ends = receivers.map(({ child }) => once(child, 'exit'));
  for (const { child } of receivers) child.kill('SIGTERM');
  await Promise.all(ends);
  for (const folder of [memory, disk]) rmSync(folder, { recursive: true, force: true });
}
