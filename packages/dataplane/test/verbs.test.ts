import { until } from '@rdmc/testing';
import type { MemoryRegion } from '@rdmc/verbs';
import { describe, expect, it } from 'vitest';
import { loopbackRecords } from './fixtures/loopback.mjs';
import { startPlane } from './planes.js';

const LENGTH = 4096;

async function connected(windowMs: number) {
  const module = new URL('./fixtures/loopback.mjs', import.meta.url);
  const plane = await startPlane([{ name: 'loopback', module }], { windowMs });
  const received: number[] = [];
  const loopback = plane.connect('loopback', loopbackRecords, { received: (bytes) => received.push(bytes) });
  await loopback.connect();
  // Allocated by the application's thread, used by the worker.
  const region = await plane.protectionDomain.allocate(2 * LENGTH);
  return { plane, loopback, region, received };
}

/** From the first half of the region to the second. */
function transfer(
  { address, lkey }: MemoryRegion,
  length = LENGTH,
): [from: number, to: number, length: number, lkey: number] {
  return [address, address + LENGTH, length, lkey];
}

describe.each([50, 0, Number.POSITIVE_INFINITY])('with a device, window %d ms', (windowMs) => {
  it('moves the application’s memory and dispatches completions per queue pair', async () => {
    const { plane, loopback, region, received } = await connected(windowMs);
    region.view(0, LENGTH).fill(0x5a);
    await loopback.send(...transfer(region));
    await loopback.send(...transfer(region, 100));
    await until(() => received.length === 2);
    expect(received).toEqual([LENGTH, 100]);
    expect(Buffer.compare(region.view(LENGTH), Buffer.alloc(LENGTH, 0x5a))).toBe(0);
    expect(plane.counters()).toMatchObject({ completions: 4, unclaimedCompletions: 0 });
    await region.close();
    await plane.close();
  });

  it('posts thousands of transfers with fewer doorbells than work requests', async () => {
    const { plane, loopback, region } = await connected(windowMs);
    const transfers = 5000;
    await loopback.flood(...transfer(region), transfers);
    const { completions, named } = plane.counters();
    expect(completions).toBeGreaterThanOrEqual(transfers * 2 - 16);
    expect(named['loopback.turns with work requests']).toBeLessThan(transfers);
  });

  it('counts the completions of a detached queue pair and continues', async () => {
    const { plane, loopback, region } = await connected(windowMs);
    await loopback.detach();
    await loopback.send(...transfer(region));
    await until(() => plane.counters().unclaimedCompletions === 1);
    await loopback.send(...transfer(region));
  });
});

describe('with a device', () => {
  it('wakes for a completion while it sleeps', async () => {
    const { plane, loopback, region } = await connected(0);
    for (let i = 0; i < 20; i += 1) {
      await until(() => plane.counters().sleeps === plane.counters().wakeups + 1);
      await loopback.send(...transfer(region));
    }
    // The completion of the last request may follow the answer.
    await until(() => plane.counters().completions === 40);
  });
});
