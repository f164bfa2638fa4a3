import { GroupError, RdmcNode } from '@rdmc/group';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { PATIENT, rejection, startMembers, timerByHand } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { clusterForAll, createEverywhere, settleMessages } from './support/cluster.js';

/** No other timer has this duration. */
const LIMIT_MS = 7_654_321;

/** Resolves when the node has heard that another member creates the group. */
function introduced({ mesh }: RdmcNode, member: number, id: number): Promise<void> {
  return new Promise((resolve) => {
    mesh.onMessage('rdmc.group', (from, body) => {
      const { group, type } = body as { group: number; type: string };
      if (from === member && group === id && type === 'create') resolve();
    });
  });
}

describe('creating groups', () => {
  const nodes = clusterForAll(3);

  it.each([
    ['one member', { id: 1, members: [0] }, 'ERR_RDMC_GROUP_TOO_SMALL'],
    ['a member twice', { id: 1, members: [0, 1, 1] }, 'ERR_RDMC_DUPLICATE_MEMBER'],
    ['a root that is not a member', { id: 1, members: [9, 0] }, 'ERR_RDMC_UNKNOWN_MEMBER'],
    ['a list without this node', { id: 1, members: [1, 2] }, 'ERR_RDMC_NOT_A_MEMBER'],
    ['no list', { id: 1, members: 3 }, 'ERR_RDMC_INVALID_OPTION'],
    ['an unknown algorithm', { id: 1, members: [0, 1], algorithm: 'gossip' }, 'ERR_RDMC_UNKNOWN_ALGORITHM'],
    ['hybrid without racks', { id: 1, members: [0, 1], algorithm: 'hybrid' }, 'ERR_RDMC_INVALID_OPTION'],
    ['too few racks', { id: 1, members: [0, 1], racks: [1] }, 'ERR_RDMC_INVALID_OPTION'],
    ['a block size of 0', { id: 1, members: [0, 1], blockBytes: 0 }, 'ERR_RDMC_INVALID_OPTION'],
    ['a weight of 0', { id: 1, members: [0, 1], weight: 0 }, 'ERR_RDMC_INVALID_OPTION'],
    ['a weight of 17', { id: 1, members: [0, 1], weight: 17 }, 'ERR_RDMC_INVALID_OPTION'],
    ['a traffic class of 256', { id: 1, members: [0, 1], trafficClass: 256 }, 'ERR_RDMC_INVALID_OPTION'],
    ['a service level of 16', { id: 1, members: [0, 1], serviceLevel: 16 }, 'ERR_RDMC_INVALID_OPTION'],
    ['a retry time-out of 0', { id: 1, members: [0, 1], retryTimeoutMs: 0 }, 'ERR_RDMC_INVALID_OPTION'],
    ['a receive window of 0', { id: 1, members: [0, 1], receiveWindow: 0 }, 'ERR_RDMC_INVALID_OPTION'],
    ['a negative id', { id: -1, members: [0, 1] }, 'ERR_RDMC_INVALID_OPTION'],
    ['an unknown option', { id: 1, members: [0, 1], block: 1 }, 'ERR_RDMC_UNKNOWN_OPTION'],
  ])('refuses %s', async (_name, options, code) => {
    const error = await rejection(nodes[0]!.createGroup(options as never));
    expect(error).toBeInstanceOf(GroupError);
    expect(error.code).toBe(code);
  });

  it.each([
    ['blockBytes', { blockBytes: 4096 }, { blockBytes: 'auto' as const }],
    ['algorithm', { algorithm: 'chain' as const }, { algorithm: 'sequential' as const }],
    ['members', { members: [0, 1, 2] }, { members: [0, 2, 1] }],
    ['racks', { racks: [0, 0, 1] }, {}],
    ['receiveWindow', { receiveWindow: 3 }, {}],
  ])('names %s and both values if members differ', async (field, one, other) => {
    const base = { id: 2, members: [0, 1, 2], timeoutMs: 120_000 };
    const errors = await Promise.all(
      nodes.map((node, id) => rejection(node.createGroup({ ...base, ...(id === 1 ? one : other) }))),
    );
    const named = errors.filter((error) => error.field === field);
    expect(errors.map(({ code }) => code)).toEqual(errors.map(() => 'ERR_RDMC_GROUP_MISMATCH'));
    expect(named.length).toBeGreaterThan(0);
    const value = JSON.stringify((one as Record<string, unknown>)[field]);
    expect(named[0]!.message).toContain(value);
    await settleMessages(nodes);
    const groups = await createEverywhere(nodes, base);
    await Promise.all(groups.map((group) => group.close()));
  });

  it('names the missing members at all members, and frees everything', async () => {
    const options = { id: 3, members: [0, 1, 2] };
    const met = [introduced(nodes[0]!, 1, options.id), introduced(nodes[1]!, 0, options.id)];
    const endTime = timerByHand(LIMIT_MS);
    const creations = [LIMIT_MS, 2 * LIMIT_MS].map((timeoutMs, id) =>
      rejection(nodes[id]!.createGroup({ ...options, timeoutMs })),
    );
    // One that has not heard of the other would name it as well.
    await Promise.all(met);
    endTime();
    const [first, second] = await Promise.all(creations);
    expect(first).toMatchObject({ code: 'ERR_RDMC_GROUP_TIMEOUT', missing: [2] });
    expect(second).toMatchObject({ code: 'ERR_RDMC_GROUP_TIMEOUT', missing: [2], memberId: 0 });
    await settleMessages(nodes);
    const groups = await createEverywhere(nodes, options);
    await Promise.all(groups.map((group) => group.close()));
  });

  it('ends with its signal, and then fails at the others', async () => {
    const options = { id: 4, members: [0, 1, 2] };
    const controller = new AbortController();
    const met = introduced(nodes[1]!, 0, options.id);
    const waiting = rejection(nodes[1]!.createGroup(options));
    const aborted = nodes[0]!.createGroup({ ...options, signal: controller.signal });
    await met;
    controller.abort(new Error('enough'));
    expect(await rejection(aborted)).toMatchObject({
      code: 'ERR_RDMC_ABORTED',
      cause: expect.objectContaining({ message: 'enough' }),
    });
    expect(await waiting).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 0 });
  });

  it('refuses an id that is in use', async () => {
    const groups = await createEverywhere(nodes, { id: 5, members: [0, 1] });
    expect(await rejection(nodes[0]!.createGroup({ id: 5, members: [0, 1] }))).toMatchObject({
      code: 'ERR_RDMC_GROUP_EXISTS',
    });
    await Promise.all(groups.map((group) => group.close()));
    for (let i = 0; i < 5; i += 1) {
      const again = await createEverywhere(nodes, { id: 5, members: [0, 1] });
      await Promise.all(again.map((group) => group.close()));
    }
  });

  it('waits for members that create it later, in any order', async () => {
    const options = { ...PATIENT, id: 6, members: [2, 0, 1] };
    const first = nodes[1]!.createGroup(options);
    const second = nodes[0]!.createGroup(options);
    const third = nodes[2]!.createGroup(options);
    const groups = await Promise.all([first, second, third]);
    expect(groups.map((group) => group.isRoot)).toEqual([false, false, true]);
    await Promise.all(groups.map((group) => group.close()));
  });
});

describe('joining', () => {
  it('refuses members with different transports, and closes everything', async () => {
    const reserved = await reserveLoopbackPorts(2);
    const transports = ['shm', 'tcp'] as const;
    const errors = await startMembers(reserved, (place) =>
      rejection(RdmcNode.join({ ...place, device: { device: 'soft', transport: transports[place.id]! } })),
    );
    for (const error of errors) expect(error.code).toBe('ERR_RDMC_DEVICE_MISMATCH');
    expect(errors[0]!.message).toContain("'shm'");
    expect(errors[0]!.message).toContain("'tcp'");
  });

  it('refuses unknown options and devices', async () => {
    const members = [{ id: 0, host: '127.0.0.1', port: 1 }];
    expect(await rejection(RdmcNode.join({ id: 0, members, colour: 1 } as never))).toMatchObject({
      code: 'ERR_RDMC_UNKNOWN_OPTION',
    });
    expect(await rejection(RdmcNode.join({ id: 0, members, device: 'fast' }))).toMatchObject({
      code: 'ERR_RDMC_UNKNOWN_DEVICE',
    });
  });
});
