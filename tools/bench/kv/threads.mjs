// What replication costs servers of kv (Tailwind, Figures 10 and 11), one-sided and by messages in turn:
//   node tools/bench/kv/threads.mjs [--seconds 3] [--clients 30] [--rounds 3] [--json]
// Four servers with three backups of every write, and a coordinator; YCSB B, A and write-only. `main`, `worker`, `device`: processor
// time of all servers for an operation (µs), of the threads that serve clients, of the data planes' workers, of the soft
// device. `others`: the rest (V8's threads). `waiting`: the share of the clients' time in which writes wait for backups. Medians.
// Needs the built dist.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { cpuOf, PARTS } from '../processor.mjs';
import { bench, end, startCluster } from './servers.mjs';

const text = { type: 'string' };
const { values } = parseArgs({
  options: {
    seconds: { ...text, default: '3' },
    clients: { ...text, default: '30' },
    rounds: { ...text, default: '3' },
    json: { type: 'boolean', default: false },
  },
});
const command = fileURLToPath(new URL('../../../apps/kv/dist/main.js', import.meta.url));
const WORKLOADS = ['b', 'a', 'write-only'];
const MODES = ['one-sided', 'rpc'];
const RECORDS = 20_000;
const WAITED = 'rdmc_kv_replication_wait_seconds_total';

async function waitedAt(servers) {
  const all = await Promise.all(servers.map(async ({ metrics }) => (await fetch(metrics)).text()));
  return all.reduce((sum, page) => sum + Number(new RegExp(`^${WAITED} (.*)$`, 'm').exec(page)[1]), 0);
}

async function measure({ port, all, servers }, workload) {
  const seconds = Number(values.seconds);
  const load = ['-w', workload, '--records', RECORDS, '-c', values.clients, '--connect', all];
  // Loads the records, and compiles.
  await bench(command, port, [...load, '-t', 1]);
  const [cpu, waited] = [cpuOf(servers.map(({ pid }) => pid)), await waitedAt(servers)];
  const { operations, perSecond } = await bench(command, port, [...load, '-t', seconds, '--no-fill']);
  const after = cpuOf(servers.map(({ pid }) => pid));
  const waiting = (await waitedAt(servers)) - waited;
  const parts = PARTS.map((part) => [part, (1e6 * (after[part] - cpu[part])) / operations]);
  return {
    perSecond,
    ...Object.fromEntries(parts),
    waiting: waiting / (Number(values.clients) * seconds),
  };
}

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
const found = new Map();
try {
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const mode of MODES) {
      const cluster = await startCluster(command, {
        more: ['--mode', mode, '--metrics', '127.0.0.1:0'],
        events: ['metrics'],
      });
      for (const workload of WORKLOADS) {
        const key = `${workload} ${mode}`;
        found.set(key, [...(found.get(key) ?? []), await measure(cluster, workload)]);
        process.stderr.write(`${key}: ${JSON.stringify(found.get(key).at(-1))}\n`);
      }
      cluster.stop();
    }
  }
} finally {
  end();
}
const rows = [...found].map(([key, runs]) => {
  const [workload, mode] = key.split(' ');
  const columns = ['perSecond', ...PARTS, 'waiting'];
  const medians = columns.map((name) => [
    name,
    Math.round(1000 * median(runs.map((run) => run[name]))) / 1000,
  ]);
  return { workload, mode, ...Object.fromEntries(medians) };
});
console.log(
  values.json ? JSON.stringify({ rows }, null, 2) : rows.map((row) => JSON.stringify(row)).join('\n'),
);
