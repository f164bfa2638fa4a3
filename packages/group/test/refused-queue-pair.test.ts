import type { GroupOptions } from '@rdmc/group';
import { rejection } from '@rdmc/testing';
import { MemoryRegion, ProtectionDomain, QueuePair, VerbsError } from '@rdmc/verbs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { clusterForAll, createEverywhere, groupIdForEach } from './support/cluster.js';

afterEach(() => vi.restoreAllMocks());

/**
 * The queue pairs and regions that are open; `refuse` lets the creation of a queue pair fail, and `refusePost` the post of its
 * receives, by its number from now on.
 */
function watchDevices() {
  const open = { queuePairs: new Set<QueuePair>(), regions: new Set<MemoryRegion>() };
  const { createQueuePair, allocate } = ProtectionDomain.prototype;
  const { postReceive } = QueuePair.prototype;
  const closes = { queuePair: QueuePair.prototype.close, region: MemoryRegion.prototype.close };
  let asked = 0;
  let refused = 0;
  let posts = 0;
  let refusedPost = 0;
  vi.spyOn(ProtectionDomain.prototype, 'createQueuePair').mockImplementation(function create(
    this: ProtectionDomain,
    options,
  ) {
    asked += 1;
    if (asked === refused) throw new VerbsError('ERR_RDMC_DEVICE_LIMIT', 'no further queue pair');
    const queuePair = createQueuePair.call(this, options);
    open.queuePairs.add(queuePair);
    return queuePair;
  });
  vi.spyOn(QueuePair.prototype, 'postReceive').mockImplementation(function post(
    this: QueuePair,
    ...requests
  ) {
    posts += 1;
    if (posts === refusedPost) throw new VerbsError('ERR_RDMC_OUT_OF_MEMORY', 'no receive is taken');
    postReceive.apply(this, requests);
  });
  vi.spyOn(QueuePair.prototype, 'close').mockImplementation(function close(this: QueuePair) {
    open.queuePairs.delete(this);
    return closes.queuePair.call(this);
  });
  vi.spyOn(ProtectionDomain.prototype, 'allocate').mockImplementation(async function take(
    this: ProtectionDomain,
    ...wish
  ) {
    const region = await allocate.apply(this, wish);
    open.regions.add(region);
    return region;
  });
  vi.spyOn(MemoryRegion.prototype, 'close').mockImplementation(function close(this: MemoryRegion) {
    open.regions.delete(this);
    return closes.region.call(this);
  });
  const refuse = (nth: number): void => {
    asked = 0;
    refused = nth;
  };
  const refusePost = (nth: number): void => {
    posts = 0;
    refusedPost = nth;
  };
  return { open, refuse, refusePost };
}

/** In the application's thread, where the queue pairs of the groups can be counted. */
describe('a creation of which the device refuses any one queue pair, or its receives', () => {
  const nodes = clusterForAll(4, { thread: 'application' });
  const group = groupIdForEach();

  // At the root. A neighbour has two queue pairs.
  it.each<[string, Partial<GroupOptions>, number, number]>([
    ['small messages and a table', { algorithm: 'chain', delivery: 'stable' }, 2, 3 + 3],
    ['the rings of many senders and a table', { senders: 'all', delivery: 'stable' }, 0, 6 + 3],
  ])('fails by that, and frees all others, with %s', async (_name, wish, ofNeighbours, links) => {
    const queuePairs = ofNeighbours + links;
    const options = { ...group, members: nodes.map(({ id }) => id), ...wish };
    const { open, refuse, refusePost } = watchDevices();
    for (let nth = 1; nth <= queuePairs; nth += 1) {
      refuse(nth);
      const failed = await rejection(nodes[0]!.createGroup(options));
      expect(failed, `queue pair ${nth}`).toMatchObject({ code: 'ERR_RDMC_DEVICE_LIMIT' });
      expect([...open.queuePairs, ...open.regions], `queue pair ${nth}`).toEqual([]);
    }
    refuse(0);
    // A link posts its receives when it is created.
    for (let nth = 1; nth <= links; nth += 1) {
      refusePost(nth);
      const failed = await rejection(nodes[0]!.createGroup(options));
      expect(failed, `receives ${nth}`).toMatchObject({ code: 'ERR_RDMC_OUT_OF_MEMORY' });
      expect([...open.queuePairs, ...open.regions], `receives ${nth}`).toEqual([]);
    }
    refusePost(0);
    const groups = await createEverywhere(nodes, options);
    const own = [...open.queuePairs].filter(({ device }) => device === nodes[0]!.device);
    expect(own).toHaveLength(queuePairs);
    await Promise.all(groups.map((each) => each.close()));
    expect(open.queuePairs.size).toBe(0);
  });
});
