import type { ProtocolContext } from '@rdmc/dataplane';
import { rejection } from '@rdmc/testing';
import { openDevice } from '@rdmc/verbs';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import type { GroupRecords, GroupSetup } from '../src/records.js';
import { createSlotTable } from '../src/slots.js';
import { GroupProtocol } from '../src/worker/group-protocol.js';
import { SharedPlans } from '../src/worker/shared-plans.js';
import { WorkerGroup } from '../src/worker/worker-group.js';

const REGION_BYTES = 65_536;

afterEach(() => vi.restoreAllMocks());

/** The worker's side of groups, and the plans that its groups have. */
async function openProtocol() {
  const device = await openDevice({ device: 'soft' });
  onTestFinished(() => device.close());
  const protectionDomain = device.allocateProtectionDomain();
  const context: Partial<ProtocolContext<GroupRecords>> = { device, data: createSlotTable() };
  const { commands } = new GroupProtocol(context as ProtocolContext<GroupRecords>);
  const joins = vi.spyOn(SharedPlans.prototype, 'join');
  const leaves = vi.spyOn(SharedPlans.prototype, 'leave');
  const counts = () => ({ joined: joins.mock.calls.length, left: leaves.mock.calls.length });
  return { commands, counts, region: await protectionDomain.allocate(REGION_BYTES) };
}

/** Member 1 of a chain of three. */
function setupWith(region: number): GroupSetup {
  return {
    ...{ group: 0, id: 1, members: [1, 2, 3], algorithm: 'chain', nodes: 3, rank: 1, racks: undefined },
    ...{ neighbours: [0, 2], firstPair: 0, receiveWindow: 2, sendWindow: 2, relaysAhead: 0 },
    ...{ retryTimeoutMs: 1000, weight: 1, trafficClass: 0, serviceLevel: 0, maxBlockBytes: 4096 },
    ...{ region, slots: null, small: null, rings: null, table: null },
  };
}

it('a group that has ended gives its plans back, once', async () => {
  const { commands, counts, region } = await openProtocol();
  await commands.open(setupWith(region.handle));
  expect(counts()).toEqual({ joined: 1, left: 0 });
  await commands.abort(0);
  await commands.abort(0);
  expect(counts()).toEqual({ joined: 1, left: 1 });
});

it('a group that cannot be opened gives its plans back', async () => {
  const { commands, counts, region } = await openProtocol();
  await region.close();
  expect(() => commands.open(setupWith(region.handle))).toThrow();
  await commands.abort(0);
  expect(counts()).toEqual({ joined: 1, left: 1 });
});

it('a group of which a queue pair cannot be closed gives its plans back', async () => {
  const { commands, counts, region } = await openProtocol();
  await commands.open(setupWith(region.handle));
  vi.spyOn(WorkerGroup.prototype, 'abort').mockRejectedValue(new Error('a queue pair is busy'));
  expect(await rejection(Promise.resolve(commands.abort(0)))).toMatchObject({
    message: 'a queue pair is busy',
  });
  expect(counts()).toEqual({ joined: 1, left: 1 });
});
