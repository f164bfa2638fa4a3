/**
 * Casts many small files to one receiver of this machine, and then the same files again, unchanged; beside rsync, where
 * it is installed.
 *
 *   node tools/bench/cast/unchanged.mjs [--files 20000] [--bytes 1000] [--rounds 5] [--content]
 *
 * Needs built packages. Prints seconds of whole processes, and of the cast as the command reports it.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { RDMC, startReceiver } from './receiver.mjs';

const FILES_PER_DIRECTORY = 100;

const { values } = parseArgs({
  options: {
    files: { type: 'string', default: '20000' },
    bytes: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '5' },
    content: { type: 'boolean', default: false },
  },
});
const [files, bytes, rounds] = [values.files, values.bytes, values.rounds].map(Number);

function makeTree(tree) {
  for (let number = 0; number < files; number += 1) {
    const directory = join(tree, `d${Math.floor(number / FILES_PER_DIRECTORY)}`);
    if (number % FILES_PER_DIRECTORY === 0) mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `f${number}`), Buffer.alloc(bytes, number));
  }
}

/** Runs a command to its end. Returns its standard output, and its seconds. */
function timed(command, args) {
  const began = performance.now();
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 30 });
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr}`);
  return { stdout, seconds: (performance.now() - began) / 1000 };
}

function cast(tree, to) {
  const compare = values.content ? ['-c'] : [];
  const args = [RDMC, 'cast', tree, '--to', to, '--json', ...compare];
  const { stdout, seconds } = timed(process.execPath, args);
  const events = stdout.trim().split('\n');
  const finished = JSON.parse(events.at(-1));
  return { whole: seconds, cast: finished.seconds, sentFiles: finished.sentFiles };
}

function middle(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const [least, most] = [sorted[0], sorted.at(-1)].map((each) => each.toFixed(2));
  return `${sorted[Math.floor(sorted.length / 2)].toFixed(2)} s (${least}-${most})`;
}

const hasRsync = spawnSync('rsync', ['--version']).status === 0;
const folder = mkdtempSync(join(tmpdir(), 'rdmc-bench-cast-'));
const tree = join(folder, 'tree');
const directory = join(folder, 'received');
const synced = join(folder, 'synced');
makeTree(tree);
for (const each of [directory, synced]) mkdirSync(each);
const { child, address } = await startReceiver(directory);
try {
  const first = cast(tree, address);
  console.log(
    `first cast   ${first.whole.toFixed(2)} s, of the cast ${first.cast.toFixed(2)} s, ${first.sentFiles} files sent`,
  );
  const rsync = () => timed('rsync', [values.content ? '-ac' : '-a', `${tree}/`, `${synced}/`]).seconds;
  if (hasRsync) console.log(`first rsync  ${rsync().toFixed(2)} s`);
  const casts = [];
  const rsyncs = [];
  // Alternating, so that the state of the machine is the same for both.
  for (let round = 0; round < rounds; round += 1) {
    casts.push(cast(tree, address));
    if (hasRsync) rsyncs.push(rsync());
  }
  if (casts.some(({ sentFiles }) => sentFiles > 0)) throw new Error('unchanged files were sent');
  console.log(
    `again        ${middle(casts.map(({ whole }) => whole))}, of the cast ${middle(casts.map((each) => each.cast))}`,
  );
  console.log(hasRsync ? `rsync again  ${middle(rsyncs)}` : 'rsync is not installed');
} finally {
  child.kill('SIGTERM');
  rmSync(folder, { recursive: true });
}
