/**
 * The memory that a cast takes at a receiver: its peak during casts minus what the same receiver has while idle, before
 * its first cast.
 *
 *   node tools/bench/cast/memory.mjs [--mib 512] [--receivers 3] [--casts 3] [--messages 12,64] [--transport shm]
 *
 * With `--variants '|--no-encrypt'`, casts with these options are compared instead of sizes.
 * Receivers are processes of this machine, files are in `--folder` (/dev/shm), and every size of messages has receivers of
 * its own. The memory of a receiver is its anonymous memory (RssAnon), and the pages of the shared memory that it has
 * made itself, which are those of its open `memfd`s: it maps the memory of its peers too, which counts at them. Pages of
 * files and of the program are not counted. Needs Linux, and built packages.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { makeFile } from '../network/files.mjs';
import { RDMC, startReceiver } from './receiver.mjs';

const MIB = 1024 * 1024;
const KIB = 1024;
const STAT_BLOCK_BYTES = 512;
const SAMPLE_MS = 20;
/** An idle receiver still starts what the next cast needs, for about this long. */
const SETTLED_MS = 1500;

const { values } = parseArgs({
  options: {
    mib: { type: 'string', default: '512' },
    receivers: { type: 'string', default: '3' },
    casts: { type: 'string', default: '3' },
    messages: { type: 'string' },
    variants: { type: 'string' },
    transport: { type: 'string', default: 'shm' },
    folder: { type: 'string', default: '/dev/shm' },
  },
});
const [mib, receivers, casts] = [values.mib, values.receivers, values.casts].map(Number);

/** Bytes of the shared memory that a process has made: peers close the descriptors that they were given. */
function ownSharedBytes(pid) {
  const folder = `/proc/${pid}/fd`;
  const seen = new Set();
  let bytes = 0;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    try {
      if (!readlinkSync(path).startsWith('/memfd:')) continue;
      const { ino, blocks } = statSync(path);
      if (!seen.has(ino)) bytes += blocks * STAT_BLOCK_BYTES;
      seen.add(ino);
    } catch {
      // It was closed meanwhile.
    }
  }
  return bytes;
}

function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const anonymous = Number(/RssAnon:\s+(\d+)/.exec(status)[1]) * KIB;
  const shared = ownSharedBytes(pid);
  return { anonymous, shared, total: anonymous + shared };
}

/** Keeps the largest figures of a process until `stop`. */
class Peak {
  #largest = { anonymous: 0, shared: 0, total: 0 };
  #timer;

  constructor(pid) {
    this.sample = () => {
      const now = memoryOf(pid);
      for (const name of Object.keys(now)) this.#largest[name] = Math.max(this.#largest[name], now[name]);
    };
    this.#timer = setInterval(this.sample, SAMPLE_MS);
  }

  stop() {
    clearInterval(this.#timer);
    this.sample();
    return this.#largest;
  }
}

async function cast(path, to, options) {
  const args = [RDMC, 'cast', path, '--to', to, '--transport', values.transport, '--quiet', ...options];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the cast ended with ${code}`);
}

/** Casts a few times to receivers of their own; prints the memory of each at its largest. */
async function measure(folder, path, { name, options }) {
  const started = [];
  try {
    for (let number = 0; number < receivers; number += 1) {
      const directory = join(folder, `receiver-${number}`);
      mkdirSync(directory);
      started.push(await startReceiver(directory, ['--transport', values.transport, '--no-fsync']));
    }
    await delay(SETTLED_MS);
    const idle = started.map(({ child }) => memoryOf(child.pid));
    const to = started.map(({ address }) => address).join(',');
    for (let number = 1; number <= casts; number += 1) {
      const peaks = started.map(({ child }) => new Peak(child.pid));
      await cast(path, to, [...options, '--compare', 'none']);
      for (const [index, peak] of peaks.entries())
        print(`${name}, cast ${number}`, index, idle[index], peak.stop());
    }
  } finally {
    const ends = started.map(({ ended }) => ended);
    for (const { child } of started) child.kill('SIGTERM');
    await Promise.all(ends);
    for (let number = 0; number < receivers; number += 1)
      rmSync(join(folder, `receiver-${number}`), { recursive: true, force: true });
  }
}

function print(what, index, idle, peak) {
  const inMib = (bytes) => `${(bytes / MIB).toFixed(0)} MiB`;
  console.log(
    `${what}, receiver ${index}: ${inMib(peak.total - idle.total)} above idle ` +
      `(peak: anonymous ${inMib(peak.anonymous)}, shared ${inMib(peak.shared)}; ` +
      `idle: anonymous ${inMib(idle.anonymous)}, shared ${inMib(idle.shared)})`,
  );
}

const folder = mkdtempSync(join(values.folder, 'rdmc-bench-memory-'));
try {
  const path = join(folder, 'file');
  makeFile(path, mib * MIB);
  const sizes = values.messages?.split(',');
  const variants = values.variants?.split('|').map((each) => ({
    name: `rdmc cast ${each}`.trim(),
    options: each.split(' ').filter((word) => word !== ''),
  }));
  const ofSizes = sizes?.map((size) => ({
    name: `messages of ${size} MiB`,
    options: ['--message-size', `${size}MiB`],
  }));
  for (const each of variants ?? ofSizes ?? [{ name: 'messages as chosen', options: [] }])
    await measure(folder, path, each);
} finally {
  rmSync(folder, { recursive: true });
}
