import type { GroupOptions, RdmcNode } from '@rdmc/group';
import { PATIENT } from '@rdmc/testing';
import { QueuePair } from '@rdmc/verbs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { clusterForAll, createEverywhere, groupIdForEach } from './support/cluster.js';

afterEach(() => vi.restoreAllMocks());

/** In the application's thread, where the queue pairs of the groups can be watched. */
describe('the weight, traffic class and service level of a member', () => {
  const nodes = clusterForAll(2, { thread: 'application' });
  const group = groupIdForEach();
  const bulk = { weight: 1, trafficClass: 0, serviceLevel: 0 };
  const urgent = { weight: 8, trafficClass: 184, serviceLevel: 3 };

  // That a device gives as many turns as the weight says is tested with devices.
  it.each<[string, Partial<GroupOptions>, number]>([
    ['blocks, announcements, small messages and the table', { delivery: 'stable' }, 4],
    ['both rings of many senders, and the table', { senders: 'all', order: 'total' }, 3],
  ])('are those of its queue pairs for %s', async (_name, options, queuePairs) => {
    const connect = vi.spyOn(QueuePair.prototype, 'connect');
    const groups = await Promise.all(
      [urgent, {}].map((own, id) =>
        nodes[id]!.createGroup({ ...PATIENT, ...group, members: [0, 1], ...options, ...own }),
      ),
    );
    const seen = connect.mock.calls.map(([, given]) => given!);
    const ofWeight = (weight: number) => seen.filter((each) => each.weight === weight);
    expect(seen).toHaveLength(2 * queuePairs);
    expect(ofWeight(8)).toEqual(Array.from({ length: queuePairs }, () => expect.objectContaining(urgent)));
    expect(ofWeight(1)).toEqual(Array.from({ length: queuePairs }, () => expect.objectContaining(bulk)));
    await Promise.all(groups.map((each) => each.close()));
  });
});

describe('a weight without an effect', () => {
  const warn = vi.fn();
  const group = groupIdForEach();
  const TCP = { device: 'soft', transport: 'tcp' } as const;
  const onTcp = clusterForAll(2, { device: TCP, logger: { warn } });
  const onLink = clusterForAll(2, { device: { ...TCP, linkRate: 1_000_000_000 }, logger: { warn } });
  const onShm = clusterForAll(2, { device: { device: 'soft', transport: 'shm' }, logger: { warn } });

  it.each<[string, readonly RdmcNode[], number, number]>([
    ['over TCP', onTcp, 4, 2],
    ['over TCP, of 1', onTcp, 1, 0],
    ['over TCP with linkRate', onLink, 4, 0],
    ['over shared memory', onShm, 4, 0],
  ])('%s: the logger of each member is told where it has none', async (_name, nodes, weight, warnings) => {
    warn.mockClear();
    const groups = await createEverywhere(nodes, { ...group, members: [0, 1], weight });
    const told = [{ group: group.id, weight, transports: ['tcp'] }, expect.stringContaining('weight')];
    expect(warn.mock.calls).toEqual(Array.from({ length: warnings }, () => told));
    await Promise.all(groups.map((each) => each.close()));
  });
});
