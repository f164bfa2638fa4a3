// Recovery of a server that was killed: node tools/bench/kv/recovery.mjs [--objects 1000000] [--servers 5] [--on-one] [--rounds 3]
// [--replicas N] [--cpu PERCENT] [--other ROOT] [--json]. A cluster with that many objects (keys of 16 bytes, values of 100) in all, or with
// `--on-one` all at the server that is killed with -9. The time is from the end of its lease to the answer of the last of 200 GETs,
// which are spread over all of its slots and wait for their new servers. With `--cpu` each server is held to that share of one
// processor from the kill on, by a control group (root; cgroup 1 or 2). `--other` names another checkout, which takes turns with this
// one. Prints each round, with the keys and the CPU time of the servers that are left, the most of one over the mean, and their memory before
// the kill, with that of the log (rss). Replica files are in TMPDIR. Needs the dist.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    objects: { type: 'string', default: '1000000' },
    servers: { type: 'string', default: '5' },
    replicas: { type: 'string' },
    'on-one': { type: 'boolean', default: false },
    rounds: { type: 'string', default: '3' },
    cpu: { type: 'string' },
    other: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const OBJECTS = Number(values.objects);
const SERVERS = Number(values.servers);
// A server that takes over needs as many others.
const REPLICAS = values.replicas ?? String(Math.min(3, SERVERS - 2));
const SLOTS = 16_384;
const READS = 200;
const BATCH = 200;
const IN_FLIGHT = 4;
const VALUE = 'v'.repeat(100);
const TICKS_PER_SECOND = 100;
const PERIOD_US = 20_000;

function slotOf(key) {
  let crc = 0;
  for (const byte of Buffer.from(key)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1)
      crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc % SLOTS;
}

function encode(args) {
  return `*${args.length}\r\n${args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`).join('')}`;
}

/** Below the ports that the system gives connections: those of a busy machine may be taken again at once. */
async function memberPort() {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 15_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

/** A connection that counts replies of one line, or of a bulk string. */
class Client {
  #text = '';
  #waiting = [];

  constructor(port) {
    this.socket = connect(port, '127.0.0.1').setEncoding('latin1');
    this.socket.on('data', (chunk) => this.#take(chunk));
    this.socket.on('error', () => {});
  }

  ask(...args) {
    this.socket.write(encode(args));
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #take(chunk) {
    this.#text += chunk;
    for (;;) {
      const end = this.#text.indexOf('\r\n');
      if (end < 0) return;
      const head = this.#text.slice(0, end);
      const length = head[0] === '$' ? Number(head.slice(1)) : -1;
      const next = length < 0 ? end + 2 : end + 2 + length + 2;
      if (this.#text.length < next) return;
      const reply = length < 0 ? head : this.#text.slice(end + 2, end + 2 + length);
      this.#text = this.#text.slice(next);
      this.#waiting.shift()(reply);
    }
  }
}

/** Holds processes to a share of a processor each. */
class Limits {
  #groups = [];
  #root;
  #isV2 = existsSync('/sys/fs/cgroup/cgroup.controllers');

  constructor(percent) {
    this.percent = percent;
    const base = this.#isV2 ? '/sys/fs/cgroup' : '/sys/fs/cgroup/cpu';
    this.#root = join(base, `kv-recovery-${process.pid}`);
    this.#make(this.#root);
    if (this.#isV2) writeFileSync(join(this.#root, 'cgroup.subtree_control'), '+cpu');
  }

  hold(pid) {
    const group = join(this.#root, String(pid));
    this.#make(group);
    const quota = Math.round((PERIOD_US * this.percent) / 100);
    if (this.#isV2) writeFileSync(join(group, 'cpu.max'), `${quota} ${PERIOD_US}`);
    else {
      writeFileSync(join(group, 'cpu.cfs_period_us'), String(PERIOD_US));
      writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quota));
    }
    writeFileSync(join(group, 'cgroup.procs'), String(pid));
  }

  async remove() {
    for (const group of this.#groups.reverse()) {
      for (let tries = 0; tries < 50; tries += 1) {
        try {
          rmdirSync(group);
          break;
        } catch {
          await delay(20);
        }
      }
    }
  }

  #make(path) {
    mkdirSync(path);
    this.#groups.push(path);
  }
}

function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

async function event(child, name) {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`a server ended with ${code}`);
  });
  ended.catch(() => {});
  for (;;) {
    const [message] = await Promise.race([once(child, 'message'), ended]);
    if (message[name] !== undefined) return message[name];
  }
}

async function infoAt(port, section, field) {
  const client = new Client(port);
  const info = await client.ask('INFO', section);
  client.socket.destroy();
  return Number(new RegExp(`${field}(\\d+)`).exec(info)?.[1] ?? 0);
}

const keysAt = (port) => infoAt(port, 'keyspace', 'keys=');
const memoryAt = (port) => infoAt(port, 'memory', 'used_memory_rss:');

/** The first slots are one server's: the list of slots is cut into equal parts. That server is killed. */
function ofVictim(slot) {
  return slot < Math.floor(SLOTS / SERVERS);
}

/** The position of the server that has the first slots. */
async function victimAmong(ports) {
  let number = 0;
  while (!ofVictim(slotOf(`one:${number}`))) number += 1;
  const client = new Client(ports[0]);
  await client.ask('SET', `one:${number}`, VALUE);
  client.socket.destroy();
  const keys = await Promise.all(ports.map(keysAt));
  return keys.indexOf(1);
}

async function fill(ports) {
  const clients = ports.map((port) => new Client(port));
  const probes = [];
  let made = 0;
  let batch = [];
  const flying = new Set();
  const send = async () => {
    const args = batch;
    batch = [];
    const client = clients[made % clients.length];
    const sent = client.ask('MSET', ...args).then((reply) => {
      if (reply !== '+OK') throw new Error(reply);
      flying.delete(sent);
    });
    flying.add(sent);
    if (flying.size >= IN_FLIGHT * clients.length) await Promise.race(flying);
  };
  for (let number = 0; made < OBJECTS; number += 1) {
    const key = `key:${String(number).padStart(12, '0')}`;
    const slot = values['on-one'] || probes.length < READS ? slotOf(key) : -1;
    if (values['on-one'] && !ofVictim(slot)) continue;
    if (slot >= 0 && ofVictim(slot) && probes.length < READS) probes.push(key);
    batch.push(key, VALUE);
    made += 1;
    if (batch.length === 2 * BATCH) await send();
  }
  if (batch.length > 0) await send();
  await Promise.all(flying);
  for (const { socket } of clients) socket.destroy();
  return probes;
}

async function measure(root) {
  const { KvCoordinator } = await import(pathToFileURL(join(root, 'apps/kv/dist/index.js')).href);
  const main = join(root, 'apps/kv/dist/main.js');
  const directory = mkdtempSync(join(tmpdir(), 'kv-recovery-'));
  const ports = await Promise.all(Array.from({ length: SERVERS + 1 }, memberPort));
  const members = ports.map((port, id) => ({ id, host: '127.0.0.1', port }));
  let leaseEnd = 0;
  // The coordinator looks at its clock until the lease has ended, and then not in that function any more.
  const clock = () => {
    if (new Error().stack.includes('beginRecovery')) leaseEnd = performance.now();
    return performance.now();
  };
  let serving = () => {};
  const ready = new Promise((resolve) => {
    serving = resolve;
  });
  const events = {
    serving: () => serving(),
    failed: ({ code, reason }) => console.error(`  ${code}: ${reason}`),
  };
  const options = { members, directory: join(directory, 'coordinator'), clock, leaseMs: 5000 };
  const starting = KvCoordinator.start(options, events);
  starting.catch(() => {});
  const list = ports.map((port) => `127.0.0.1:${port}`).join();
  const more = ['-m', list, '-d', directory, '-p', '0', '-r', REPLICAS, '--segments', '512'];
  const children = members.slice(1).map(({ id }) => {
    return fork(main, ['server', ...more, '-i', String(id)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
  });
  let limits;
  let coordinator;
  try {
    const clientPorts = await Promise.all(children.map((child) => event(child, 'ready')));
    coordinator = await starting;
    await ready;
    const victim = await victimAmong(clientPorts);
    const probes = await fill(clientPorts);
    const left = children.filter((_, index) => index !== victim);
    const leftPorts = clientPorts.filter((_, index) => index !== victim);
    // Buffers that are being flushed are not part of the recovery.
    await delay(2000);
    const before = {
      keys: await Promise.all(leftPorts.map(keysAt)),
      memory: await Promise.all(leftPorts.map(memoryAt)),
      cpu: left.map(({ pid }) => cpuSeconds(pid)),
    };
    if (values.cpu !== undefined) {
      limits = new Limits(Number(values.cpu));
      for (const { pid } of left) limits.hold(pid);
    }
    const client = new Client(leftPorts[0]);
    const exited = once(children[victim], 'exit');
    children[victim].kill('SIGKILL');
    await exited;
    const replies = await Promise.all(probes.map((key) => client.ask('GET', key)));
    const done = performance.now();
    if (replies.some((reply) => reply !== VALUE))
      throw new Error(`a wrong reply: ${replies.find((each) => each !== VALUE)}`);
    client.socket.destroy();
    const cpu = left.map(({ pid }, index) => cpuSeconds(pid) - before.cpu[index]);
    const keys = (await Promise.all(leftPorts.map(keysAt))).map((count, index) => count - before.keys[index]);
    return { seconds: (done - leaseEnd) / 1000, keys, memory: before.memory, cpu };
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(
      children.map((child) => child.exitCode !== null || child.signalCode !== null || once(child, 'exit')),
    );
    await coordinator?.close();
    await limits?.remove();
    rmSync(directory, { recursive: true, force: true });
  }
}

const most = (numbers) =>
  Math.max(...numbers) / (numbers.reduce((sum, each) => sum + each, 0) / numbers.length);
const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** With `--json` standard output has the document only. */
const say = (line) => process[values.json ? 'stderr' : 'stdout'].write(`${line}\n`);
const subjects = [{ name: 'this', root: fileURLToPath(new URL('../../..', import.meta.url)), seconds: [] }];
if (values.other) subjects.unshift({ name: 'other', root: values.other, seconds: [] });
const held = values.cpu ? `, each server held to ${values.cpu}% of a processor` : '';
say(
  `${OBJECTS} objects ${values['on-one'] ? 'at one of' : 'in'} ${SERVERS} servers, ${REPLICAS} replicas${held}`,
);
for (let round = 0; round < Number(values.rounds); round += 1) {
  const order = round % 2 ? [...subjects].reverse() : subjects;
  for (const { name, root, seconds } of order) {
    const result = await measure(root);
    seconds.push(result.seconds);
    say(
      `${name.padEnd(5)}  ${result.seconds.toFixed(2)} s for ${sum(result.keys)} keys; most keys ${most(result.keys).toFixed(2)}, ` +
        `most CPU ${most(result.cpu).toFixed(2)} of the mean; ${sum(result.cpu).toFixed(2)} CPU s; ` +
        `${(sum(result.memory) / result.memory.length / 2 ** 20).toFixed(0)} MiB of memory each before; load ${loadavg()[0].toFixed(1)}`,
    );
  }
}
for (const { name, seconds } of subjects) say(`${name.padEnd(5)}  median ${median(seconds).toFixed(2)} s`);
if (values.json) {
  const heirs = SERVERS - 1;
  console.log(JSON.stringify({ heirs, objects: OBJECTS, seconds: median(subjects.at(-1).seconds) }));
}
process.exit(0);
