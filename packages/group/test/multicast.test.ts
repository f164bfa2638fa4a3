import { algorithms } from '@rdmc/group';
import { PATIENT } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import {
  clusterForAll,
  collect,
  createEverywhere,
  filledRegion,
  sha256,
  startCluster,
  stopCluster,
} from './support/cluster.js';

const BLOCK = 4096;
const SIZES = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 10 * BLOCK + 17];
const NODES = 8;

describe.each(['worker', 'application'] as const)('multicast among nodes, driven in the %s', (thread) => {
  const nodes = clusterForAll(NODES, { thread });

  const cases = algorithms.flatMap((algorithm) => [2, 5, 8].map((n) => ({ algorithm, n })));
  it.each(cases)(
    '$algorithm to $n members: every size arrives once, complete and in order',
    async ({ algorithm, n }) => {
      const members = Array.from({ length: n }, (_, index) => index);
      const racks = members.map((id) => id % 2);
      const options = { id: 1, members, algorithm, racks, blockBytes: BLOCK };
      const [root, ...receivers] = await createEverywhere(nodes, options);
      const collecting = receivers.map(collect);
      const regions = await Promise.all(SIZES.map((size, seed) => filledRegion(nodes[0]!, size, seed)));
      // All are queued before the first one is sent.
      await Promise.all(
        SIZES.map((byteLength, number) => root!.send({ region: regions[number]!, byteLength })),
      );
      await Promise.all([root!, ...receivers].map((group) => group.close()));
      const expected = SIZES.map((byteLength, number) => ({
        number,
        byteLength,
        hash: sha256(regions[number]!.view(0, byteLength)),
      }));
      for (const received of await Promise.all(collecting)) expect(received).toEqual(expected);
      for (const receiver of receivers) {
        const { firstBlockCopies, messagesReceived, bytesReceived, bytesExpected } = receiver.progress();
        expect(messagesReceived).toBe(SIZES.length);
        // One copy of one block per message with bytes, and no other copies.
        expect(firstBlockCopies).toBe(SIZES.length - 1);
        expect(bytesReceived).toBe(bytesExpected);
      }
      await Promise.all(regions.map((region) => region.close()));
    },
  );

  it('a region that is closed while its messages are queued stays open until they are sent', async () => {
    const size = 3 * BLOCK;
    const options = { id: 3, members: [0, 1, 2], blockBytes: BLOCK };
    const [root, ...receivers] = await createEverywhere(nodes, options);
    const collecting = receivers.map(collect);
    const region = await filledRegion(nodes[0]!, size, 5);
    const hash = sha256(region.view(0, size));
    const sends = Array.from({ length: 20 }, () => root!.send({ region, byteLength: size }));
    expect(() => region.closeNow()).toThrow(expect.objectContaining({ code: 'ERR_RDMC_REGION_BUSY' }));
    const closing = region.close();
    await Promise.all(sends);
    await closing;
    await Promise.all([root!, ...receivers].map((group) => group.close()));
    for (const received of await Promise.all(collecting)) {
      expect(received.map((message) => message.hash)).toEqual(Array(20).fill(hash));
    }
  });

  it('sends several MiB in blocks of the automatic size', async () => {
    const size = 5 * 1024 * 1024 + 3;
    const [root, ...receivers] = await createEverywhere(nodes, { id: 2, members: [0, 1, 2, 3, 4] });
    const collecting = receivers.map(collect);
    const region = await filledRegion(nodes[0]!, size, 9);
    await root!.send(region);
    await Promise.all([root!, ...receivers].map((group) => group.close()));
    for (const received of await Promise.all(collecting)) {
      expect(received).toEqual([{ number: 0, byteLength: size, hash: sha256(region.view()) }]);
    }
    expect(receivers[0]!.progress().blocksReceived).toBeGreaterThan(10);
    await region.close();
  });

  it('carries many overlapping groups with several roots at once', async () => {
    const memberships = [
      [0, 1, 2, 3],
      [1, 0, 2, 3],
      [3, 2, 1],
      [4, 0],
      [5, 6, 7, 0, 1, 2, 3, 4],
      [2, 7],
    ];
    const sizes = [300_000, 70_001, 5, 120_000];
    await Promise.all(
      memberships.map(async (members, index) => {
        const groups = await createEverywhere(nodes, { id: 10 + index, members, blockBytes: 8192 });
        const [root, ...receivers] = groups;
        const collecting = receivers.map(collect);
        const rootNode = nodes[members[0]!]!;
        const regions = await Promise.all(
          sizes.map((size, seed) => filledRegion(rootNode, size, index * 7 + seed)),
        );
        await Promise.all(regions.map((region) => root!.send(region)));
        await Promise.all(groups.map((group) => group.close()));
        const hashes = regions.map((region) => sha256(region.view()));
        for (const received of await Promise.all(collecting)) {
          expect(received.map(({ hash }) => hash)).toEqual(hashes);
        }
        await Promise.all(regions.map((region) => region.close()));
      }),
    );
  });

  it('sends a part of a region, and receives into a part of one', async () => {
    const memory = await nodes[1]!.allocate(10_000);
    const options = { ...PATIENT, id: 20, members: [0, 1], blockBytes: 512 };
    const [root, receiver] = await Promise.all([
      nodes[0]!.createGroup(options),
      nodes[1]!.createGroup({ ...options, incoming: () => ({ region: memory, offset: 5000 }) }),
    ]);
    const region = await filledRegion(nodes[0]!, 9000, 3);
    const sent = root.send(region, { offset: 4000, byteLength: 3000 });
    const messages = receiver[Symbol.asyncIterator]();
    const { value: message } = await messages.next();
    await sent;
    expect(message!.offset).toBe(5000);
    expect(sha256(memory.view(5000, 3000))).toBe(sha256(region.view(4000, 3000)));
    message!.release();
    expect(memory.closed).toBe(false);
    await Promise.all([root.close(), receiver.close()]);
    await Promise.all([memory.close(), region.close()]);
  });

  it('returns memory to the pool when a message is released, and not before', async () => {
    const [root, receiver] = await createEverywhere(nodes, { id: 21, members: [0, 1] });
    const region = await filledRegion(nodes[0]!, 100_000, 4);
    const messages = receiver![Symbol.asyncIterator]();
    const addresses = new Set<number>();
    for (let i = 0; i < 20; i += 1) {
      await root!.send(region);
      const { value: message } = await messages.next();
      addresses.add(message!.region.address);
      expect(message!.region.closed).toBe(false);
      message!.release();
      await message!.region.close();
      expect(() => message!.view).toThrow(expect.objectContaining({ code: 'ERR_RDMC_REGION_CLOSED' }));
    }
    expect(addresses.size).toBeLessThan(20);
    await Promise.all([root!.close(), receiver!.close()]);
    await region.close();
  });

  it.each([
    ['TCP', { device: { device: 'soft', transport: 'tcp' as const } }],
    ['TCP with a cluster key', { device: { transport: 'tcp' as const }, key: 'a secret of the cluster' }],
    ['shared memory with a cluster key', { key: 'a secret of the cluster' }],
    ['a worker that polls', { windowMs: 20 }],
  ])('works over %s', async (_name, options) => {
    const others = await startCluster(3, options);
    const groups = await createEverywhere(others, { id: 1, members: [0, 1, 2], blockBytes: 10_000 });
    const collecting = groups.slice(1).map(collect);
    const region = await filledRegion(others[0]!, 1_000_000, 8);
    await groups[0]!.send(region);
    await Promise.all(groups.map((group) => group.close()));
    for (const received of await Promise.all(collecting))
      expect(received[0]!.hash).toBe(sha256(region.view()));
    await stopCluster(others);
  });
});
