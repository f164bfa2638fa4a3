import { Deferred } from '@rdmc/common';
import type { RdmcNode } from '@rdmc/group';
import { PATIENT, rejection, until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import {
  clusterForAll,
  clusterForEach,
  collect,
  createEverywhere,
  filledRegion,
  groupIdForEach,
  sha256,
} from './support/cluster.js';

const BLOCK = 1000;

/** Requests that waited in the node's device and were released, until now. */
function released({ device }: RdmcNode): number {
  return device.counters().released!;
}

describe.each(['shm', 'tcp'] as const)('blocks that the device relays, over %s', (transport) => {
  const nodes = clusterForAll(5, { device: { device: 'soft', transport } });
  const group = groupIdForEach();

  /** Sends messages of these sizes to the first `count` nodes, and checks them at all. */
  async function expectDelivered(count: number, sizes: readonly number[], options: object): Promise<void> {
    const members = Array.from({ length: count }, (_, id) => id);
    const groups = await createEverywhere(nodes, {
      ...group,
      members,
      blockBytes: BLOCK,
      smallMessageBytes: 0,
      relay: 'device',
      ...options,
    });
    const collecting = groups.slice(1).map(collect);
    const regions = await Promise.all(sizes.map((size, seed) => filledRegion(nodes[0]!, size, seed)));
    const sends = regions.map((region, i) => groups[0]!.send(region, { byteLength: sizes[i]! }));
    await Promise.all([...sends, ...groups.map((each) => each.close())]);
    const expected = regions.map((region, number) => ({
      number,
      byteLength: sizes[number]!,
      hash: sha256(region.view(0, sizes[number]!)),
    }));
    for (const received of await Promise.all(collecting)) expect(received).toEqual(expected);
    await Promise.all(regions.map((region) => region.close()));
  }

  it.each([
    ['chain', 3],
    ['chain', 5],
    ['binomial-pipeline', 4],
    ['binomial-pipeline', 5],
  ] as const)(
    '%s of %i members: every message, of many more blocks than the queues hold',
    async (algorithm, count) => {
      await expectDelivered(count, [400 * BLOCK + 7, 0, 1, BLOCK, BLOCK + 1, 90 * BLOCK], { algorithm });
    },
  );

  it('are sent by requests that wait', async () => {
    const before = released(nodes[1]!);
    // A worker that is late sends blocks that have come already.
    while (released(nodes[1]!) === before) {
      group.id += 100;
      await expectDelivered(3, [100 * BLOCK], { algorithm: 'chain' });
    }
  });

  it('with windows of one block', async () => {
    const windows = { receiveWindow: 1, sendWindow: 1, readyWindow: 1 };
    await expectDelivered(4, [40 * BLOCK, 3], { ...windows, algorithm: 'binomial-pipeline' });
  });

  it('into memory ahead, whose slots are all in use', async () => {
    const receive = { messages: 1, byteLength: 40 * BLOCK };
    const sizes = Array.from({ length: 6 }, (_, i) => (35 + i) * BLOCK);
    await expectDelivered(4, sizes, { receive, algorithm: 'chain' });
  });

  it('to a target that stops announcing in mid-message: the relay receives the rest, and goes on later', async () => {
    const givesMemory = new Deferred<void>();
    const incoming = async (byteLength: number) => {
      await givesMemory.promise;
      return { region: await nodes[2]!.allocate(byteLength) };
    };
    const members = [0, 1, 2, 3];
    const options = {
      ...PATIENT,
      ...group,
      members,
      blockBytes: BLOCK,
      algorithm: 'chain',
      relay: 'device',
    } as const;
    const groups = await Promise.all(
      members.map((id) => nodes[id]!.createGroup({ ...options, ...(id === 2 && { incoming }) })),
    );
    const collecting = groups.slice(1).map(collect);
    const region = await filledRegion(nodes[0]!, 300 * BLOCK, 5);
    const sending = groups[0]!.send(region, { byteLength: 300 * BLOCK });
    // Its target has announced one receive, and announces the others when it has memory. All blocks may be here before the
    // device confirms that it has sent the one.
    const relay = () => groups[1]!.progress();
    await until(() => relay().blocksReceived === 300 && relay().blocksSent > 0);
    expect(relay().blocksSent).toBe(1);
    givesMemory.resolve();
    await Promise.all([sending, ...groups.map((each) => each.close())]);
    const hash = sha256(region.view(0, 300 * BLOCK));
    for (const received of await Promise.all(collecting)) expect(received).toMatchObject([{ hash }]);
    await region.close();
  });

  it('with stable delivery', async () => {
    await expectDelivered(4, [100 * BLOCK, 50 * BLOCK], { delivery: 'stable' });
  });
});

describe.each(['shm', 'tcp'] as const)('a member that fails while devices relay, over %s', (transport) => {
  const nodes = clusterForEach(4, { device: { device: 'soft', transport } });

  it('is named at all others, in the midst of messages, and the memory is given back', async () => {
    const options = { blockBytes: BLOCK, smallMessageBytes: 0, algorithm: 'chain', relay: 'device' } as const;
    const groups = await createEverywhere(nodes, { id: 1, members: [0, 1, 2, 3], ...options });
    const region = await filledRegion(nodes[0]!, 300 * BLOCK, 1);
    const sendForEver = async (): Promise<never> => {
      for (;;) await Promise.all([groups[0]!.send(region), groups[0]!.send(region)]);
    };
    const third = groups[3]![Symbol.asyncIterator]();
    const pending = [sendForEver(), collect(groups[1]!), collect(groups[2]!)].map(rejection);
    (await third.next()).value!.release();
    await nodes[1]!.close();
    const last = (async () => {
      for (let next = await third.next(); !next.done; next = await third.next()) next.value.release();
    })();
    const errors = await Promise.all([...pending, rejection(last)]);
    for (const at of [0, 2, 3]) {
      expect(errors[at]).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 1 });
    }
    expect(region.outstanding).toBe(0);
    await region.close();
  });
});

describe("the option relay: 'device'", () => {
  const nodes = clusterForEach(2, { device: 'soft' });

  it('is the same at all members', async () => {
    const relays = ['worker', 'device'] as const;
    const creations = relays.map((relay, id) => nodes[id]!.createGroup({ id: 1, members: [0, 1], relay }));
    for (const error of await Promise.all(creations.map(rejection))) {
      expect(error).toMatchObject({ code: 'ERR_RDMC_GROUP_MISMATCH', field: 'relay' });
    }
  });

  it('is refused for many senders, and other values are', async () => {
    const create = (options: object) =>
      rejection(nodes[0]!.createGroup({ id: 1, members: [0, 1], ...options }));
    expect(await create({ relay: 'device', senders: 'all' })).toMatchObject({
      code: 'ERR_RDMC_INVALID_OPTION',
    });
    expect(await create({ relay: 'nic' })).toMatchObject({ code: 'ERR_RDMC_INVALID_OPTION' });
  });

  it('is refused where the device does not execute requests that wait', async () => {
    const { attributes } = nodes[0]!.device;
    Object.defineProperty(nodes[0]!.device, 'attributes', { value: { ...attributes, waitFor: false } });
    const error = await rejection(nodes[0]!.createGroup({ id: 1, members: [0, 1], relay: 'device' }));
    expect(error.code).toBe('ERR_RDMC_RELAY_UNSUPPORTED');
  });
});
