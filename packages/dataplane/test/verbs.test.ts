import { DataPlane } from '@rdmc/dataplane';
import type { MemoryRegion } from '@rdmc/verbs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Command, Received } from './fixtures/loopback.mjs';
import { fromU32, until } from './planes.js';

const LENGTH = 4096;

async function connected(windowMs: number): Promise<{ plane: DataPlane; region: MemoryRegion }> {
  const plane = await DataPlane.start({
    windowMs,
    device: { device: 'soft' },
    protocols: [{ name: 'loopback', module: new URL('./fixtures/loopback.mjs', import.meta.url) }],
  });
  onTestFinished(() => plane.terminate());
  await plane.command('loopback', Command.CONNECT);
  // Allocated by the application's thread, used by the worker's.
  const region = await plane.protectionDomain.allocate(2 * LENGTH);
  return { plane, region };
}

/** From the first half of the region to the second. */
function transfer(region: MemoryRegion, length = LENGTH, times = 1): Uint8Array {
  const { address, lkey } = region;
  return new Uint8Array(Float64Array.of(address, address + LENGTH, length, lkey, times).buffer);
}

describe.each([50, 0, Number.POSITIVE_INFINITY])('with a device, window %d ms', (windowMs) => {
  it('moves the application’s memory and dispatches completions per queue pair', async () => {
    const { plane, region } = await connected(windowMs);
    const received: number[] = [];
    plane.onEvent('loopback', (kind, payload) => {
      if (kind === Received) received.push(...fromU32(payload));
    });
    region.view(0, LENGTH).fill(0x5a);
    await plane.command('loopback', Command.SEND, transfer(region));
    await plane.command('loopback', Command.SEND, transfer(region, 100));
    await until(() => received.length === 2);
    expect(received).toEqual([LENGTH, 100]);
    expect(Buffer.compare(region.view(LENGTH), Buffer.alloc(LENGTH, 0x5a))).toBe(0);
    expect(plane.counters()).toMatchObject({ completions: 4, unclaimedCompletions: 0 });
    await region.close();
    await plane.close();
  });

  it('carries thousands of transfers with fewer doorbells than work requests', async () => {
    const { plane, region } = await connected(windowMs);
    const transfers = 5000;
    await plane.command('loopback', Command.FLOOD, transfer(region, LENGTH, transfers));
    const { completions, named } = plane.counters();
    expect(completions).toBeGreaterThanOrEqual(transfers * 2 - 16);
    expect(named['loopback.turns with work requests']).toBeLessThan(transfers);
  });

  it('counts the completions of a detached queue pair and goes on', async () => {
    const { plane, region } = await connected(windowMs);
    await plane.command('loopback', Command.DETACH);
    await plane.command('loopback', Command.SEND, transfer(region));
    await until(() => plane.counters().unclaimedCompletions === 1);
    await plane.command('loopback', Command.SEND, transfer(region));
  });
});

describe('with a device', () => {
  it('wakes for a completion while it sleeps', async () => {
    const { plane, region } = await connected(0);
    for (let i = 0; i < 20; i += 1) {
      await until(() => plane.counters().sleeps === plane.counters().wakeups + 1);
      await plane.command('loopback', Command.SEND, transfer(region));
    }
    expect(plane.counters().completions).toBe(40);
  });

  it('dies of work requests that are refused, naming why', async () => {
    const { plane, region } = await connected(50);
    await expect(plane.command('loopback', Command.OVERFLOW, transfer(region))).rejects.toMatchObject({
      code: 'ERR_RDMC_DATAPLANE_DIED',
      cause: { code: 'ERR_RDMC_QUEUE_FULL' },
    });
  });
});
