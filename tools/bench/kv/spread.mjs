// Clients that do not know slots, beside Redis: node tools/bench/kv/spread.mjs [--seconds 2] [--rounds 6] [--clients 50] [--other ROOT]
// Each client has one connection, to the first of four servers, which forwards the commands for the keys of the others; Redis is a
// primary with three replicas that has all keys. SET of 100 bytes with WAIT 3 after each, and GET. `--other` names another checkout,
// whose servers run in the same rounds. The order of the subjects is reversed in every other round. Prints medians, and the medians of
// the ratios to Redis of each round. Needs the built dist, and redis-server.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bench, cluster, end, replicatedRedis } from './servers.mjs';

const command = fileURLToPath(new URL('../../../apps/kv/dist/main.js', import.meta.url));
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '6' },
    clients: { type: 'string', default: '50' },
    other: { type: 'string' },
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

function measure(port, load, more) {
  const common = ['--records', RECORDS, '-c', values.clients, '-t', values.seconds, '--forwarded'];
  return bench(command, port, [...load.args, ...common, ...more]);
}

/** The results of each subject, by round. */
async function alternate(subjects, load) {
  const results = subjects.map(() => []);
  for (const { port } of subjects) await measure(port, load, []);
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const order = [...subjects.keys()];
    if (round % 2) order.reverse();
    for (const index of order) results[index].push(await measure(subjects[index].port, load, ['--no-fill']));
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
        `p99 ${of('p99').toFixed(0).padStart(6)} µs  rate ${ratio('perSecond').toFixed(2)}  p99 ${ratio('p99').toFixed(2)}  faults ${faults}`,
    );
  }
}

try {
  const subjects = [{ name: 'Redis', port: await replicatedRedis() }];
  if (values.other) {
    subjects.push({ name: 'other kv', port: await cluster(join(values.other, 'apps/kv/dist/main.js')) });
  }
  subjects.push({ name: 'kv', port: await cluster(command) });
  for (const load of LOADS) report(load, subjects, await alternate(subjects, load));
} finally {
  end();
}
