import { rejection } from '@rdmc/testing';
import { afterEach, expect, it, vi } from 'vitest';
import { collect, createEverywhere, filledRegion, startCluster, stopCluster } from './support/cluster.js';

const BYTES = 5000;
const BLOCK = 1000;

afterEach(() => vi.restoreAllMocks());

it('a region into which the processor cannot copy ends only its group, with a code', async () => {
  // The first block of a message is copied into the region that `incoming` gives. Memory of a GPU (registerDmabuf)
  // refuses that.
  const nodes = await startCluster(2, { thread: 'application' });
  const foreign = await nodes[1]!.allocate(BYTES);
  const { device } = nodes[1]!;
  const copy = device.copy.bind(device);
  vi.spyOn(device, 'copy').mockImplementation((to, from, byteLength) => {
    const isForeign = to >= foreign.address && to < foreign.address + BYTES;
    if (isForeign) throw new Error('no memory of this process');
    copy(to, from, byteLength);
  });
  const options = { members: [0, 1], blockBytes: BLOCK };
  const [bad, good] = await Promise.all([
    createEverywhere(nodes, { ...options, id: 1, incoming: () => ({ region: foreign, offset: 0 }) }),
    createEverywhere(nodes, { ...options, id: 2 }),
  ]);
  const received = collect(good[1]!);
  const region = await filledRegion(nodes[0]!, BYTES, 3);
  const sending = bad[0]!.send(region).catch(() => {});
  const error = await rejection(collect(bad[1]!));
  expect(error).toMatchObject({ code: 'ERR_RDMC_INCOMING_FAILED', memberId: 1 });
  expect(error.message).toContain('no memory of this process');
  await sending;
  expect(await rejection(bad[0]!.close())).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 1 });
  await good[0]!.send(region);
  await Promise.all(good.map((group) => group.close()));
  expect(await received).toHaveLength(1);
  await stopCluster(nodes);
});
