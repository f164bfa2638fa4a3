import { type Chances, chances } from '@rdmc/chaos';
import { algorithms } from '@rdmc/group';
import { afterEach, describe, expect, it } from 'vitest';
import { Cluster, endClusters, over } from '../src/cluster.js';
import type { Closed } from '../src/member-types.js';
import { expectLost, expectOrderedAndExact, NEWS_BY_CONNECTIONS, transferAmong } from '../src/proof.js';
import { startStream } from '../src/stream.js';

/** `npm run test:long` makes a hundred. */
const RUNS = Number(process.env.RDMC_CHAOS_RUNS ?? 3);
const GROUP = 1;
const KIB = 1024;

afterEach(endClusters);

/**
 * The seed of the first run. The same ones guard every change: a leaf over shared memory, the root and a relay of a hybrid group
 * over TCP. RDMC_TEST_SEED and RDMC_CHAOS_RUNS look for new trouble.
 */
const firstSeed = Number(process.env.RDMC_TEST_SEED ?? 2);

/** The run of one seed. Generated before the run, so that the run does not influence it. */
function draw(random: Chances) {
  const n = random.integer(2, 6);
  const ids = random.shuffled(Array.from({ length: n }, (_, id) => id));
  const algorithm = random.pick(algorithms);
  const byteLength = random.pick([1, 1000, 70 * KIB, 700 * KIB, 3000 * KIB]) + random.integer(0, 40);
  return {
    n,
    ids,
    byteLength,
    arrived: random.integer(1, 30) / 10,
    lost: random.pick(ids),
    signal: random.pick(['SIGKILL', 'SIGTERM'] as const),
    transport: random.pick(['shm', 'shm', 'tcp'] as const),
    options: {
      algorithm,
      blockBytes: random.pick(['auto', 1000, 64 * KIB, 300 * KIB] as const),
      receiveWindow: random.integer(1, 12),
      sendWindow: random.integer(1, 4),
      ...(algorithm === 'hybrid' && { racks: ids.map(() => random.integer(0, 2)) }),
    },
  };
}

describe('a random member dies at a random point of a random transfer', () => {
  const seeds = Array.from({ length: RUNS }, (_, run) => firstSeed + run);
  it.each(seeds)('RDMC_TEST_SEED=%i', async (seed) => {
    const { n, ids, lost, signal, transport, ...plan } = draw(chances(seed));
    const told = JSON.stringify({ ids, lost, signal, transport, ...plan });
    const cluster = await Cluster.start(n, { node: { ...NEWS_BY_CONNECTIONS.node, ...over(transport) } });
    const options = { ...plan.options, ...NEWS_BY_CONNECTIONS.group };
    const content = { seed, variants: 3 };
    const stream = await startStream(cluster, {
      ...{ group: GROUP, ids, count: 'endless', ...plan, ...content },
      options,
    });
    cluster.at(lost).signal(signal);
    const survivors = cluster.except(lost);
    const closes = await cluster.all((member) => member.call<Closed>('close', { group: GROUP }), survivors);
    for (const { error } of closes) expectLost(error, lost);
    const root = ids[0]!;
    for (const member of survivors.filter(({ id }) => id !== root)) {
      const { error } = await member.event('end', ({ group }) => group === GROUP);
      expectLost(error, lost);
      expectOrderedAndExact(member, GROUP);
    }
    if (lost !== root) {
      const outcomes = await stream.sends;
      const wentWell = outcomes.findIndex(({ error }) => error !== null);
      expect(wentWell, `the first send that failed: ${told}`).toBeGreaterThanOrEqual(0);
      // What failed is a tail: nothing is sent after what was not.
      for (const { error } of outcomes.slice(wentWell)) expectLost(error, lost);
    }
    const others = survivors.map(({ id }) => id);
    if (others.length > 1)
      await transferAmong(cluster, others, GROUP + 1, { algorithm: 'binomial-pipeline' });
    await cluster.leave();
  });
});
