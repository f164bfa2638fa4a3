import { RdmcNode } from '@rdmc/group';
import { MemoryRegion } from '@rdmc/verbs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { receiveMemory } from '../src/late-memory.js';

const MIB = 1_048_576;

function environmentWith(populate: () => Promise<void>, closed = false) {
  const asked: string[] = [];
  const region = { closed, populate } as MemoryRegion;
  const allocate = (how: string) => async (): Promise<MemoryRegion> => {
    asked.push(how);
    return region;
  };
  return { asked, environment: { allocate: allocate('now'), allocateUnpopulated: allocate('late') } };
}

describe('receiveMemory', () => {
  it('hands out long memory before its pages are there', async () => {
    let populated = false;
    const { asked, environment } = environmentWith(async () => {
      populated = true;
      await new Promise(() => {});
    });
    await receiveMemory(environment, 16 * MIB - 1, undefined, () => {});
    expect([asked, populated]).toEqual([['now'], false]);
    await receiveMemory(environment, 16 * MIB, undefined, () => {});
    expect([asked, populated]).toEqual([['now', 'late'], true]);
  });

  it.each([
    [false, 1],
    [true, 0],
  ])('reports pages that cannot be had (region closed: %s)', async (closed, reports) => {
    const failures: unknown[] = [];
    const { environment } = environmentWith(() => Promise.reject(new Error('no memory')), closed);
    await receiveMemory(environment, 16 * MIB, undefined, (error) => failures.push(error));
    await new Promise(setImmediate);
    expect(failures).toHaveLength(reports);
  });
});

it('a group does not open where the pages of its memory ahead cannot be had', async () => {
  const nodes = await RdmcNode.loopback(2);
  onTestFinished(async () => {
    vi.restoreAllMocks();
    await Promise.all(nodes.map((node) => node.close()));
  });
  vi.spyOn(MemoryRegion.prototype, 'populate').mockRejectedValue(new Error('no memory'));
  const receive = { messages: 1, byteLength: 16 * MIB };
  const [root, receiver] = await Promise.allSettled(
    nodes.map((node) => node.createGroup({ id: 1, members: [0, 1], receive })),
  );
  expect(receiver).toMatchObject({ status: 'rejected', reason: { code: 'ERR_RDMC_INCOMING_FAILED' } });
  expect(root).toMatchObject({ status: 'rejected' });
});
