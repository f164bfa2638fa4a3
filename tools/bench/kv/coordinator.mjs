// What clients see when the coordinator is killed: node tools/bench/kv/coordinator.mjs [--rounds 5] [--servers 5] [--keys 15]
//   [--lead-seconds 2] [--restart-after 10] [--json]
// Standby: the coordinators' state is in etcd, a standby waits in the mesh, and the coordinator is killed with -9. Restart: the state is
// in a file, and the coordinator is started again after `--restart-after` seconds. Each client has one connection and one key, and
// sends a command every 5 ms: SET, or a command that reads: GET, INCR, or SET with NX and GET. A pause is the longest time without a
// successful answer to one client. Prints for each round the pauses before the kill and from the kill on, refused commands, and servers
// that ended. Needs the built dist, and etcd (Debian's etcd-server).
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort } from './servers.mjs';

const command = fileURLToPath(new URL('../../../apps/kv/dist/main.js', import.meta.url));
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    servers: { type: 'string', default: '5' },
    keys: { type: 'string', default: '15' },
    'lead-seconds': { type: 'string', default: '2' },
    'restart-after': { type: 'string', default: '10' },
    json: { type: 'boolean', default: false },
  },
});
const INTERVAL_MS = 5;
const BEFORE_MS = 3_000;
const AFTER_MS = 5_000;
const KINDS = {
  SET: (key) => ['SET', key, 'v'],
  GET: (key) => ['GET', key],
  INCR: (key) => ['INCR', key],
  'SET NX GET': (key) => ['SET', key, 'v', 'NX', 'GET'],
};
const children = new Set();
let directory;

function start(program, args, options) {
  const child = program === command ? fork(program, args, options) : spawn(program, args, options);
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

/** Resolves when the process reports this. */
async function event(child, name) {
  for (;;) {
    const [message] = await once(child, 'message');
    if (message[name] !== undefined) return message[name];
  }
}

function member(args) {
  return start(command, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
}

async function etcd() {
  const [client, peer] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`);
  const args = [
    '--name',
    'one',
    '--data-dir',
    join(directory, 'etcd'),
    '--logger',
    'zap',
    '--log-level',
    'error',
  ];
  const addresses = ['--listen-client-urls', client, '--advertise-client-urls', client];
  const peers = [
    '--listen-peer-urls',
    peer,
    '--initial-advertise-peer-urls',
    peer,
    '--initial-cluster',
    `one=${peer}`,
  ];
  start('etcd', [...args, ...addresses, ...peers], { stdio: 'ignore' });
  for (;;) {
    const answer = await fetch(`${client}/health`).catch(() => undefined);
    if (answer?.ok) return client;
    await delay(50);
  }
}

/** A cluster that serves: with a standby, or alone with its state in a file. */
async function cluster(hasStandby) {
  const count = Number(values.servers);
  const ports = [];
  while (ports.length < count + 2) ports.push(await freePort());
  const members = ports.slice(0, count + 1).map((port) => `127.0.0.1:${port}`);
  const common = ['--members', members.join(','), '--directory', join(directory, 'cluster')];
  const lead = hasStandby ? ['--etcd', await etcd(), '--lead-seconds', values['lead-seconds']] : [];
  const coordinate = (more = []) => member(['coordinator', ...common, ...lead, ...more]);
  const coordinator = coordinate();
  const serving = event(coordinator, 'serving');
  const standby = hasStandby
    ? coordinate(['--standby', '1', '--listen', `127.0.0.1:${ports.at(-1)}`])
    : undefined;
  const isStanding = standby && event(standby, 'ready');
  const small = ['--segments', '32', '--buffers', '24', '--window-ms', '0'];
  const servers = Array.from({ length: count }, (_, index) =>
    member(['server', ...common, '--id', String(index + 1), '--port', '0', ...small]),
  );
  const clients = await Promise.all(servers.map((server) => event(server, 'ready')));
  await Promise.all([serving, isStanding]);
  return { coordinator, standby, servers, clients, coordinate };
}

/** One client with one key. Notes when each command was answered, and the refusals. */
class Client {
  answered = [performance.now()];
  refused = new Map();
  #isOver = false;

  constructor(port, words) {
    this.socket = connect(port, '127.0.0.1').setNoDelay(true);
    this.bytes = `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
    this.work = this.#run();
  }

  async #run() {
    while (!this.#isOver) {
      this.socket.write(this.bytes);
      const [reply] = await once(this.socket, 'data');
      const text = String(reply);
      if (text.startsWith('-')) {
        const code = text.split(' ').slice(0, 2).join(' ').trim();
        this.refused.set(code, (this.refused.get(code) ?? 0) + 1);
      } else this.answered.push(performance.now());
      await delay(INTERVAL_MS);
    }
    this.socket.destroy();
  }

  async end() {
    this.#isOver = true;
    await this.work;
    this.answered.push(performance.now());
  }

  /** The longest time without a successful answer that ends after the first moment, and before the second. */
  pause(from, to = Number.POSITIVE_INFINITY) {
    let longest = 0;
    for (let i = 1; i < this.answered.length; i += 1) {
      const at = this.answered[i];
      if (at > from && at <= to) longest = Math.max(longest, at - this.answered[i - 1]);
    }
    return longest;
  }
}

function clientsOf(ports) {
  return Object.entries(KINDS).flatMap(([kind, words]) =>
    Array.from({ length: Number(values.keys) }, (_, index) => ({
      kind,
      client: new Client(ports[index % ports.length], words(`${kind.replaceAll(' ', '')}:${index}`)),
    })),
  );
}

/** Kills the coordinator under load. */
async function round(hasStandby) {
  directory = mkdtempSync(join(tmpdir(), 'kv-coordinator-'));
  try {
    const { coordinator, standby, servers, clients: ports, coordinate } = await cluster(hasStandby);
    const clients = clientsOf(ports);
    await delay(BEFORE_MS);
    const leading = standby && event(standby, 'leading');
    const killedAt = performance.now();
    coordinator.kill('SIGKILL');
    if (hasStandby) await leading;
    else {
      await delay(Number(values['restart-after']) * 1000);
      await event(coordinate(), 'leading');
    }
    const ledAfterMs = performance.now() - killedAt;
    await delay(AFTER_MS);
    await Promise.all(clients.map(({ client }) => client.end()));
    const kinds = Object.keys(KINDS).map((kind) => {
      const those = clients.filter((each) => each.kind === kind).map(({ client }) => client);
      const refused = new Map();
      for (const { refused: found } of those) {
        for (const [code, times] of found) refused.set(code, (refused.get(code) ?? 0) + times);
      }
      const longest = (from, to) => Math.round(Math.max(...those.map((client) => client.pause(from, to))));
      const answers = those.reduce((sum, { answered }) => sum + answered.length - 2, 0);
      return {
        kind,
        answers,
        beforeMs: longest(0, killedAt),
        pauseMs: longest(killedAt),
        refused: Object.fromEntries(refused),
      };
    });
    const ended = servers.filter(
      ({ exitCode, signalCode }) => exitCode !== null || signalCode !== null,
    ).length;
    return {
      case: hasStandby ? 'standby' : 'restart',
      ledAfterMs: Math.round(ledAfterMs),
      ended,
      load: loadavg()[0],
      kinds,
    };
  } finally {
    for (const child of children) child.kill('SIGKILL');
    while (children.size > 0) await delay(20);
    rmSync(directory, { recursive: true, force: true });
  }
}

function print({ case: name, ledAfterMs, ended, load, kinds }) {
  console.log(`${name}: led again after ${ledAfterMs} ms; ${ended} servers ended; load ${load.toFixed(1)}`);
  for (const { kind, answers, beforeMs, pauseMs, refused } of kinds) {
    const refusals = Object.entries(refused).map(([code, times]) => `${times} × ${code}`);
    console.log(
      `  ${kind.padEnd(10)} ${String(answers).padStart(6)} answers  longest pause ${String(beforeMs).padStart(5)} ms before, ` +
        `${String(pauseMs).padStart(5)} ms after  refused: ${refusals.join(', ') || 'none'}`,
    );
  }
}

const results = [];
for (let at = 0; at < Number(values.rounds); at += 1) {
  for (const hasStandby of [true, false]) {
    results.push(await round(hasStandby));
    if (!values.json) print(results.at(-1));
  }
}
if (values.json) console.log(JSON.stringify(results));
