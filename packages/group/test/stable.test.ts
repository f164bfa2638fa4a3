import { Buffer } from 'node:buffer';
import { Deferred } from '@rdmc/common';
import type { Group, GroupError, GroupOptions, RdmcNode } from '@rdmc/group';
import { PATIENT, rejection, until } from '@rdmc/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MOST_UNREAD } from '../src/stable/read-ahead.js';
import { collect, createEverywhere, settleMessages, startCluster, stopCluster } from './support/cluster.js';

const ALL = [0, 1, 2, 3];
const STABLE = { members: ALL, delivery: 'stable' } as const;
let nodes: RdmcNode[];

/** Reads to the end: the messages, and the error of the group. */
async function readAll(group: Group): Promise<{ count: number; error: GroupError }> {
  let count = 0;
  const reading = async (): Promise<void> => {
    for await (const message of group) {
      expect(message.number).toBe(count);
      count += 1;
      message.release();
    }
  };
  const error = (await rejection(reading())) as unknown as GroupError;
  return { count, error };
}

function sendAll(root: Group, count: number): Promise<unknown> {
  const bytes = (number: number): Buffer => Buffer.alloc(number % 11 === 7 ? 20_000 : 3000, `${number},`);
  return Promise.all(Array.from({ length: count }, (_, number) => root.send(bytes(number)).catch(() => {})));
}

describe('a group with stable delivery', () => {
  beforeEach(async () => {
    nodes = await startCluster(ALL.length);
  });
  afterEach(() => stopCluster(nodes));

  it('delivers all messages in one order, small and large, and closes', async () => {
    const groups = await createEverywhere(nodes, { id: 1, ...STABLE });
    const [root, ...receivers] = groups;
    const collecting = receivers.map(collect);
    await sendAll(root!, 300);
    await Promise.all(groups.map((group) => group.close()));
    const [first, ...others] = await Promise.all(collecting);
    expect(first!.map(({ number }) => number)).toEqual(Array.from({ length: 300 }, (_, number) => number));
    for (const received of others) expect(received).toEqual(first);
  });

  it('holds a message until the last member has it', async () => {
    const memory = new Deferred<void>();
    const options = (id: number): GroupOptions => ({
      ...{ id: 1, ...STABLE, ...PATIENT, algorithm: 'sequential' },
      incoming: async (byteLength) => {
        if (id === 3) await memory.promise;
        return nodes[id]!.allocate(byteLength);
      },
    });
    const groups = await Promise.all(ALL.map((id) => nodes[id]!.createGroup(options(id))));
    const taken: number[] = [];
    const reading = groups.slice(1).map(async (group) => {
      for await (const message of group) {
        taken.push(message.number);
        message.release();
      }
    });
    const sent = sendAll(groups[0]!, 3);
    await groups[0]!.send(Buffer.alloc(1));
    void groups[0]!.send(Buffer.alloc(30_000));
    void groups[0]!.send(Buffer.alloc(1));
    // Members 1 and 2 have the long message. The messages in front of it are delivered.
    await until(() => [1, 2].every((id) => groups[id]!.progress().messagesReceived === 6));
    await until(() => taken.length === 12);
    await settleMessages(nodes);
    expect(taken.every((number) => number < 4)).toBe(true);
    memory.resolve();
    await Promise.all([sent, ...groups.map((group) => group.close()), ...reading]);
    expect(taken).toHaveLength(18);
  });

  it('does not wait for an application that reads later, and that one gets everything', async () => {
    const groups = await createEverywhere(nodes, { id: 1, ...STABLE });
    const COUNT = 3 * MOST_UNREAD;
    const taken = ALL.map(() => 0);
    const read = async (id: number): Promise<void> => {
      for await (const message of groups[id]!) {
        expect(message.number).toBe(taken[id]);
        taken[id]! += 1;
        message.release();
      }
    };
    const reading = [read(1), read(2)];
    const sent = groups[0]!.sendMany(Array.from({ length: COUNT }, (_, number) => Buffer.from(`${number}`)));
    await until(() => taken[1]! >= MOST_UNREAD && taken[2]! >= MOST_UNREAD);
    await Promise.all([sent, ...groups.map((group) => group.close()), ...reading, read(3)]);
    expect(taken).toEqual([0, COUNT, COUNT, COUNT]);
  });

  it('does not wait for such an application either when small messages were faster than a large one', async () => {
    const memory = new Deferred<void>();
    const incoming = async (byteLength: number) => {
      await memory.promise;
      return nodes[3]!.allocate(byteLength);
    };
    const options = { id: 1, ...STABLE, ...PATIENT } as const;
    const groups = await Promise.all(
      ALL.map((id) => nodes[id]!.createGroup({ ...options, ...(id === 3 && { incoming }) })),
    );
    const [root, ...receivers] = groups;
    const taken = ALL.map(() => 0);
    const read = async (id: number): Promise<void> => {
      for await (const message of groups[id]!) {
        taken[id]! += 1;
        message.release();
      }
    };
    const reading = [read(1), read(2)];
    const large = root!.send(Buffer.alloc(20_000));
    await root!.send(Buffer.alloc(1));
    await until(() => receivers[2]!.progress().messagesReceived === 1);
    memory.resolve();
    // Member 3 has one of each, and reads nothing.
    await until(() => taken[1] === 2 && taken[2] === 2);
    await root!.send(Buffer.alloc(1));
    await until(() => taken[1] === 3 && taken[2] === 3);
    await Promise.all([large, ...groups.map((group) => group.close()), ...reading, read(3)]);
    expect(taken).toEqual([0, 3, 3, 3]);
  });

  it.each([
    ['a receiver', 3],
    ['the root', 0],
  ] as const)('after the end of %s, the survivors have delivered the same', async (_name, culprit) => {
    const groups = await createEverywhere(nodes, { id: 1, ...STABLE });
    const survivors = ALL.filter((id) => id !== culprit);
    const receivers = survivors.filter((id) => id !== 0);
    // From the beginning: with many unread messages, further ones stay in the ring.
    const reading = receivers.map((id) => readAll(groups[id]!));
    const sending = sendAll(groups[0]!, 400);
    await until(() => groups[2]!.progress().messagesReceived > 20);
    const closing = nodes[culprit]!.close();
    const reads = await Promise.all(reading);
    const errors = await Promise.all(survivors.map((id) => rejection(groups[id]!.close())));
    const { count } = reads[0]!;
    for (const each of reads) expect(each.count).toBe(count);
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: culprit, excluded: [culprit] });
      const { delivered } = error as unknown as GroupError;
      expect([...delivered!]).toEqual(receivers.map((id) => [id, count]));
    }
    await Promise.all([sending, closing]);
    const members = survivors;
    const again = await createEverywhere(nodes, { ...STABLE, id: 1, members });
    const collecting = again.slice(1).map(collect);
    await again[0]!.send(Buffer.from('again'));
    await Promise.all(again.map((group) => group.close()));
    for (const received of await Promise.all(collecting)) expect(received).toHaveLength(1);
  });

  it('a minority delivers what it knew to be stable, and says so', async () => {
    const groups = await createEverywhere(nodes, { id: 1, ...STABLE });
    const reading = readAll(groups[1]!);
    const sending = sendAll(groups[0]!, 400);
    await until(() => groups[1]!.progress().messagesReceived > 20);
    const closing = [2, 3].map((id) => nodes[id]!.close());
    const { count, error } = await reading;
    expect(error).toMatchObject({ code: 'ERR_RDMC_GROUP_MINORITY' });
    expect([...error.delivered!]).toEqual([[1, count]]);
    expect(await rejection(groups[0]!.close())).toMatchObject({ code: 'ERR_RDMC_GROUP_MINORITY' });
    await Promise.all([sending, ...closing]);
  });

  it.each([
    ['majority', 'ERR_RDMC_GROUP_MINORITY', undefined],
    ['none', 'ERR_RDMC_MEMBER_LOST', [0]],
  ] as const)('of two members with quorum %s: the other one ends with %s', async (quorum, code, excluded) => {
    const groups = await createEverywhere(nodes, { id: 1, members: [0, 1], delivery: 'stable', quorum });
    await groups[0]!.send(Buffer.from('one'));
    await until(() => groups[1]!.progress().messagesReceived === 1);
    const closing = nodes[0]!.close();
    const { count, error } = await readAll(groups[1]!);
    expect(count).toBe(1);
    expect(error).toMatchObject({ code, ...(excluded && { excluded }) });
    expect([...error.delivered!]).toEqual([[1, 1]]);
    await closing;
  });

  it('a member that misses the last confirmation learns from the table that the group is complete', async () => {
    const groups = await createEverywhere(nodes, { id: 1, ...STABLE });
    const { mesh } = nodes[3]!;
    const send = mesh.send.bind(mesh);
    mesh.send = (to, topic, body) => {
      if (to !== 2 || (body as { type?: string }).type !== 'stored') send(to, topic, body);
    };
    const collecting = groups.slice(1).map(collect);
    await sendAll(groups[0]!, 30);
    await Promise.all(groups.map((group) => group.close()));
    for (const received of await Promise.all(collecting)) expect(received).toHaveLength(30);
  });

  it('a member that leaves with all messages does not end a group that needs it no more', async () => {
    const groups = await createEverywhere(nodes, { id: 1, ...STABLE });
    const collecting = groups.slice(1).map(collect);
    await sendAll(groups[0]!, 30);
    await Promise.all(
      groups.map(async (group, id) => {
        await group.close();
        if (id !== 0) await nodes[id]!.close();
      }),
    );
    for (const received of await Promise.all(collecting)) expect(received).toHaveLength(30);
  });
});

describe('options of stable delivery', () => {
  beforeAll(async () => {
    nodes = await startCluster(2);
  });
  afterAll(() => stopCluster(nodes));

  it.each<[string, Partial<GroupOptions>, RegExp]>([
    ['an unknown delivery', { delivery: 'total' as never }, /delivery/],
    ['an unknown quorum', { delivery: 'stable', quorum: 'two' as never }, /quorum/],
    ['a quorum without stable delivery', { quorum: 'none' }, /quorum is for groups with delivery 'stable'/],
  ])('%s is refused', async (_name, options, message) => {
    const error = await rejection(nodes[0]!.createGroup({ id: 1, members: [0, 1], ...options }));
    expect(error).toMatchObject({
      code: 'ERR_RDMC_INVALID_OPTION',
      message: expect.stringMatching(message),
    });
  });

  it.each<[string, Partial<GroupOptions>]>([
    ['delivery', {}],
    ['quorum', { delivery: 'stable', quorum: 'none' }],
  ])('members must agree on %s', async (field, other) => {
    const errors = await Promise.all([
      rejection(nodes[0]!.createGroup({ id: 1, members: [0, 1], delivery: 'stable' })),
      rejection(nodes[1]!.createGroup({ id: 1, members: [0, 1], ...other })),
    ]);
    for (const error of errors) expect(error).toMatchObject({ code: 'ERR_RDMC_GROUP_MISMATCH', field });
  });
});
