// The key-value store beside Redis, in one run: node tools/bench/kv/redis.mjs [--seconds 3] [--rounds 2] [--cases 1x1,30x1]
// Redis (Debian's redis-server) as one primary with three replicas, in memory, SET then WAIT 3; ours as a cluster of four
// servers with three backups of every write, one of which has all keys and serves the same clients the same commands;
// both unreplicated too. Redis's WAIT is weaker: after a failover what was acknowledged may be gone, and it may answer with fewer replicas.
// Needs the built dist, and redis-server.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { alone, bench, cluster, end, freePort, redis, replicatedRedis } from './servers.mjs';

const command = fileURLToPath(new URL('../../../apps/kv/dist/main.js', import.meta.url));
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '2' },
    cases: { type: 'string', default: '1x1,30x1,50x1,1x16,1x100' },
    'window-ms': { type: 'string', default: '50' },
  },
});
/** clients x batch, with commas. */
const CASES = values.cases.split(',').map((text) => {
  const [clients, batch] = text.split('x').map(Number);
  return { clients, batch };
});

/** Keys of the server itself only: its clients are those of one primary. */
async function measure(port, { clients, batch }, wait) {
  const keys = ['-w', 'write-only', '--records', 20_000, '--no-fill', '--one-primary'];
  return bench(command, port, [...keys, '-c', clients, '-b', batch, '-t', values.seconds, '--wait', wait]);
}

try {
  const subjects = [
    ['Redis, SET + WAIT 3', await replicatedRedis(), 3],
    ['kv, SET + WAIT 3, 4 servers', await cluster(command, values['window-ms']), 3],
  ];
  const single = await freePort();
  await redis(single);
  subjects.push(['Redis, alone', single, 0], ['kv --replicas 0', await alone(command), 0]);
  console.log(
    'clients batch  subject                          sets/s     p50 µs   p99 µs  errors  short WAITs',
  );
  for (const shape of CASES) {
    for (const [name, port, wait] of subjects) {
      const rounds = [];
      for (let i = 0; i < Number(values.rounds); i += 1) rounds.push(await measure(port, shape, wait));
      rounds.sort((a, b) => b.perSecond - a.perSecond);
      const [{ perSecond, p50, p99, errors, shortWaits }] = rounds;
      console.log(
        `${String(shape.clients).padStart(7)} ${String(shape.batch).padStart(5)}  ${name.padEnd(30)} ${String(perSecond).padStart(9)}` +
          `  ${String(p50).padStart(8)} ${String(p99).padStart(8)}  ${String(errors).padStart(6)}  ${shortWaits}`,
      );
    }
  }
} finally {
  end();
}
