import { SEED } from '@rdmc/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { Cluster, endClusters, over } from '../src/cluster.js';
import type { SystemFacts } from '../src/member-types.js';
import { transferAmong } from '../src/proof.js';
import { flood, NONSENSE, sendNonsense, sendNonsenseToSocket } from '../src/strangers.js';

const MIB = 1024 * 1024;
const ROUNDS = 20;
/** What the system keeps for sockets, on both sides, before anybody has read it. */
const MOST_TAKEN_BYTES = 32 * MIB;

afterEach(endClusters);

function system(cluster: Cluster): Promise<SystemFacts> {
  return cluster.at(0).call<SystemFacts>('system');
}

/** For what stays. */
const GONE_WITHIN_MS = 60_000;

/**
 * Nothing of the strangers stays: neither their connections nor what they sent. The end of a connection is seen at the
 * other side before it is closed at this one, and the device closes its own in a thread of its own.
 */
async function expectNothingLeft(cluster: Cluster, before: SystemFacts): Promise<void> {
  const deadline = performance.now() + GONE_WITHIN_MS;
  let after = await system(cluster);
  while (after.descriptors > before.descriptors && performance.now() < deadline)
    after = await system(cluster);
  expect(after.descriptors, 'descriptors').toBeLessThanOrEqual(before.descriptors);
  expect(after.memory.Private_Dirty! - before.memory.Private_Dirty!, 'bytes of its own').toBeLessThan(
    64 * MIB,
  );
}

describe.each(['shm', 'tcp'] as const)('strangers at every port of a node, device over %s', (transport) => {
  it(`garbage and oversized frames, while a group works: dropped, and nobody is hurt, RDMC_TEST_SEED=${SEED}`, async () => {
    const cluster = await Cluster.start(3, { node: over(transport) });
    // Each pair of devices meets, and has the memory it needs.
    await transferAmong(cluster, [0, 1, 2], 1);
    await transferAmong(cluster, [1, 0, 2], 4);
    const before = await system(cluster);
    expect(before.ports).toContain(cluster.list[0]!.port);
    expect(before.ports.length > 1, 'the device has a port').toBe(transport === 'tcp');
    const calls = before.ports.flatMap((port) =>
      Array.from({ length: ROUNDS }, () => NONSENSE.map(([, bytes]) => sendNonsense(port, bytes))).flat(),
    );
    const sockets = cluster.at(0).sockets.map((name) => sendNonsenseToSocket(name, ROUNDS));
    const [local] = await Promise.all([Promise.all(sockets), transferAmong(cluster, [1, 0, 2], 2), ...calls]);
    for (const { sent, ended } of local) {
      expect(sent).toBeGreaterThanOrEqual(ROUNDS);
      expect(ended).toBe(ROUNDS);
    }
    for (const port of before.ports) expect(await flood(port, 64 * MIB)).toBeLessThan(MOST_TAKEN_BYTES);
    await expectNothingLeft(cluster, before);
    await transferAmong(cluster, [2, 1, 0], 3);
    expect(
      cluster.members.flatMap(({ events }) => events.filter(({ event }) => event === 'memberFailed')),
    ).toEqual([]);
    await cluster.leave();
  });
});
