// Latency of SET by the offered load, as a client sees it (Tailwind, Figure 8), and the processors that it takes (Figure 10):
//   node tools/bench/kv/offered.mjs [--loads 1000,5000,…] [--seconds 2] [--rounds 3] [--clients 50] [--json]
// An open loop (open-loop.c) offers SETs of 100 bytes at scheduled times to one of four servers, which has their keys; three others have
// backups of every write. kv, one-sided and by messages: the reply of SET. Redis, a primary with three replicas: the reply of
// WAIT 3, which is sent together with the SET. `primary` and `backups` are processors: of the server, and of the three others.
// The subjects take turns, each with new processes; medians of the rounds. Without redis-server, kv only.
// Needs the built dist, and a C compiler.
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { cpuOf } from '../processor.mjs';
import { Connection, resp } from './load.mjs';
import { end, startCluster, startRedis, stop } from './servers.mjs';

const text = { type: 'string' };
const { values } = parseArgs({
  options: {
    loads: { ...text, default: '1000,5000,10000,20000,40000,60000' },
    seconds: { ...text, default: '2' },
    rounds: { ...text, default: '3' },
    clients: { ...text, default: '50' },
    json: { type: 'boolean', default: false },
  },
});
const command = fileURLToPath(new URL('../../../apps/kv/dist/main.js', import.meta.url));
const WARM_UP = { perSecond: 5000, seconds: 2 };
const BACKUPS = 3;
const SUBJECTS = [
  { name: 'one-sided', wait: 0, start: () => startCluster(command, { more: ['--mode', 'one-sided'] }) },
  { name: 'rpc', wait: 0, start: () => startCluster(command, { more: ['--mode', 'rpc'] }) },
  { name: 'redis', wait: BACKUPS, start: startRedis },
];

const folder = mkdtempSync(join(tmpdir(), 'kv-offered-'));
const program = join(folder, 'open-loop');

function build() {
  const source = fileURLToPath(new URL('open-loop.c', import.meta.url));
  execFileSync('cc', ['-O2', source, '-o', program], { stdio: 'inherit' });
}

/** A hash tag of keys of the server at that port; any tag, where the server is not a cluster. */
async function tagOf(port) {
  const connection = await Connection.open(port);
  try {
    const nodes = await connection.ask(resp('CLUSTER', 'NODES'));
    if (nodes.startsWith('-')) return '{0}';
    const own = nodes.split('\n').find((line) => line.includes('myself'));
    const [first, last] = / (\d+)-(\d+)/.exec(own).slice(1).map(Number);
    for (let tag = 0; ; tag += 1) {
      const slot = Number((await connection.ask(resp('CLUSTER', 'KEYSLOT', `{${tag}}`))).slice(1));
      if (slot >= first && slot <= last) return `{${tag}}`;
    }
  } finally {
    connection.close();
  }
}

const total = (parts) => Object.values(parts).reduce((sum, each) => sum + each, 0);

/** Processors that these processes have taken since then. */
function processors(pids, before, seconds) {
  return (total(cpuOf(pids)) - total(before)) / seconds;
}

async function offer({ port, tag, wait }, perSecond, seconds) {
  const args = [port, values.clients, perSecond, seconds, wait, tag].map(String);
  const { stdout, stderr } = await promisify(execFile)(program, args);
  process.stderr.write(stderr);
  return JSON.parse(stdout);
}

async function measure(target, pids, perSecond) {
  const [[primary], backups] = [pids, pids.slice(1)];
  const before = [cpuOf([primary]), cpuOf(backups)];
  const began = performance.now();
  const result = await offer(target, perSecond, Number(values.seconds));
  const seconds = (performance.now() - began) / 1000;
  return {
    ...result,
    primary: processors([primary], before[0], seconds),
    backups: processors(backups, before[1], seconds),
  };
}

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
const loads = values.loads.split(',').map(Number);
const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
const subjects = SUBJECTS.filter(({ name }) => name !== 'redis' || hasRedis);
const found = new Map();
try {
  build();
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const { name, wait, start } of subjects) {
      const { port, servers } = await start();
      const target = { port, wait, tag: await tagOf(port) };
      await offer(target, WARM_UP.perSecond, WARM_UP.seconds);
      for (const perSecond of loads) {
        const key = `${name} ${perSecond}`;
        const pids = servers.map(({ pid }) => pid);
        found.set(key, [...(found.get(key) ?? []), await measure(target, pids, perSecond)]);
        process.stderr.write(`${key}: ${JSON.stringify(found.get(key).at(-1))}\n`);
      }
      await stop();
    }
  }
} finally {
  end();
  rmSync(folder, { recursive: true, force: true });
}
const rows = [...found].map(([key, runs]) => {
  const [subject, offered] = key.split(' ');
  const columns = Object.keys(runs[0]);
  const medians = columns.map((name) => [
    name,
    Math.round(1000 * median(runs.map((run) => run[name]))) / 1000,
  ]);
  return { subject, offered: Number(offered), ...Object.fromEntries(medians) };
});
console.log(
  values.json ? JSON.stringify({ rows }, null, 2) : rows.map((row) => JSON.stringify(row)).join('\n'),
);
