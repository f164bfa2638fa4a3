/**
 * Casts a large file to receivers of this machine over TCP, changes one byte of it, and casts again: as blocks, and then,
 * after another change, whole.
 *
 *   node tools/bench/cast/changed-block.mjs [--mebibytes 1024] [--receivers 1] [--rounds 3] [--folder DIR]
 *
 * Needs built packages. Bytes are those of the loopback interface, with all headers: run it in a network namespace, so
 * that nothing else is counted (`unshare -n sh -c 'ip link set lo up && exec node …'`, as root). Seconds are those of the
 * cast as the command reports them.
 */
import { spawnSync } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { RDMC, startReceiver } from './receiver.mjs';

const MIB = 1024 * 1024;

const { values } = parseArgs({
  options: {
    mebibytes: { type: 'string', default: '1024' },
    receivers: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '3' },
    folder: { type: 'string', default: tmpdir() },
  },
});
const [mebibytes, receivers, rounds] = [values.mebibytes, values.receivers, values.rounds].map(Number);
const size = mebibytes * MIB;

function makeFile(path) {
  const file = openSync(path, 'w');
  const bytes = Buffer.alloc(MIB);
  for (let at = 0; at < size; at += MIB) writeSync(file, randomFillSync(bytes), 0, MIB, at);
  closeSync(file);
}

/** Changes one byte. */
function change(path, round) {
  const file = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  const at = Math.floor((size / (rounds * 2 + 1)) * (round + 1));
  readSync(file, byte, 0, 1, at);
  byte[0] ^= 1;
  writeSync(file, byte, 0, 1, at);
  closeSync(file);
}

/** Bytes that the loopback interface has received so far. */
function loopbackBytes() {
  const line = readFileSync('/proc/net/dev', 'utf8')
    .split('\n')
    .find((each) => each.trim().startsWith('lo:'));
  return Number(line.trim().split(/[:\s]+/)[1]);
}

function cast(path, to, ...extra) {
  const before = loopbackBytes();
  const args = [RDMC, 'cast', path, '--to', to, '--transport', 'tcp', '--json', ...extra];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    maxBuffer: 1 << 30,
  });
  if (status !== 0) throw new Error(`the cast ended with ${status}: ${stderr}`);
  const { seconds, transferredBytes } = JSON.parse(stdout.trim().split('\n').at(-1));
  return { seconds, transferredBytes, wire: loopbackBytes() - before };
}

function print(what, { seconds, transferredBytes, wire }) {
  const share = ((100 * wire) / (size * receivers)).toFixed(3);
  console.log(
    `${what}  ${seconds.toFixed(2)} s, contents ${transferredBytes} B, loopback ${wire} B (${share} %)`,
  );
}

const folder = mkdtempSync(join(values.folder, 'rdmc-bench-cast-'));
const path = join(folder, 'image');
makeFile(path);
const started = [];
try {
  for (let number = 0; number < receivers; number += 1) {
    const directory = join(folder, `receiver-${number}`);
    mkdirSync(directory);
    started.push(await startReceiver(directory, ['--transport', 'tcp']));
  }
  const to = started.map(({ address }) => address).join(',');
  print('first ', cast(path, to));
  for (let round = 0; round < rounds; round += 1) {
    change(path, 2 * round);
    print('blocks', cast(path, to));
    change(path, 2 * round + 1);
    print('whole ', cast(path, to, '--whole-file'));
  }
} finally {
  for (const { child } of started) child.kill('SIGTERM');
  rmSync(folder, { recursive: true });
}
