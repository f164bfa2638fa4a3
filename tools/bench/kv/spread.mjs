// Clients that do not know slots, beside Redis: node tools/bench/kv/spread.mjs [--seconds 2] [--rounds 6] [--clients 50] [--other ROOT]
// Each client has one connection, to the first of four servers, which forwards the commands for the keys of the others; Redis is a
// primary with three replicas that has all keys. SET of 100 bytes with WAIT 3 after each, and GET. `--other` names another checkout,
// whose servers run in the same rounds. The order of the subjects is reversed in every other round. Prints medians, the medians of
// the ratios to Redis of each round, and the servers' processor time for an operation: of the one that has the clients, and of all.
// `waits` is the share of the time in which the first server's main thread could run and had no processor. `--only SET` or
// `--only GET` measures one of the two. Needs the built dist, and redis-server.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bench, cpuSeconds, end, scheduled, startCluster, startRedis } from './servers.mjs';

const command = fileURLToPath(new URL('../../../apps/kv/dist/main.js', import.meta.url));
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '6' },
    clients: { type: 'string', default: '50' },
    other: { type: 'string' },
    only: { type: 'string', default: '' },
  },
});
const RECORDS = 5000;
const LOADS = [
  { name: 'SET + WAIT 3', args: ['-w', 'write-only', '--wait', 3] },
  { name: 'GET', args: ['-w', 'c', '--wait', 0] },
];

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

async function measure({ port, servers }, load, more) {
  const common = ['--records', RECORDS, '-c', values.clients, '-t', values.seconds, '--forwarded'];
  const pids = servers.map(({ pid }) => pid);
  const before = cpuSeconds(pids);
  const { waited } = scheduled(pids[0]);
  const started = performance.now();
  const result = await bench(command, port, [...load.args, ...common, ...more]);
  const used = cpuSeconds(pids).map((seconds, index) => seconds - before[index]);
  // A run begins with a tenth of its time that does not count.
  const [first, all] = [used[0], used.reduce((sum, seconds) => sum + seconds)].map(
    (seconds) => (1e6 * seconds) / (1.1 * result.operations),
  );
  const waits = (scheduled(pids[0]).waited - waited) / ((performance.now() - started) / 1000);
  return { ...result, first, all, waits };
}

/** The results of each subject, by round. */
async function alternate(subjects, load) {
  const results = subjects.map(() => []);
  for (const subject of subjects) await measure(subject, load, []);
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const order = [...subjects.keys()];
    if (round % 2) order.reverse();
    for (const index of order) results[index].push(await measure(subjects[index], load, ['--no-fill']));
  }
  return results;
}

function report(load, subjects, results) {
  for (const [index, { name }] of subjects.entries()) {
    const of = (field) => median(results[index].map((result) => result[field]));
    const ratio = (field) =>
      median(results[index].map((result, round) => result[field] / results[0][round][field]));
    const faults = results[index].reduce((sum, { errors, shortWaits }) => sum + errors + shortWaits, 0);
    console.log(
      `${load.name.padEnd(13)} ${name.padEnd(9)} ${of('perSecond').toFixed(0).padStart(7)}/s  p50 ${of('p50').toFixed(0).padStart(5)} µs  ` +
        `p99 ${of('p99').toFixed(0).padStart(6)} µs  rate ${ratio('perSecond').toFixed(2)}  p99 ${ratio('p99').toFixed(2)}  ` +
        `processor ${of('first').toFixed(1).padStart(5)}, ${of('all').toFixed(1).padStart(5)} µs  ` +
        `waits ${of('waits').toFixed(2)}  faults ${faults}`,
    );
  }
}

try {
  const subjects = [{ name: 'Redis', ...(await startRedis()) }];
  if (values.other) {
    const other = join(values.other, 'apps/kv/dist/main.js');
    subjects.push({ name: 'other kv', ...(await startCluster(other)) });
  }
  subjects.push({ name: 'kv', ...(await startCluster(command)) });
  for (const load of LOADS) {
    if (load.name.startsWith(values.only)) report(load, subjects, await alternate(subjects, load));
  }
} finally {
  end();
}
