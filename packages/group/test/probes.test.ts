import { Deferred } from '@rdmc/common';
import type { RdmcNode } from '@rdmc/group';
import { afterEach, describe, expect, it } from 'vitest';
import { FakeMachine, fakeLibrary, useFake } from '../../verbs/test/support/fake-library.js';
import { collect, filledRegion, sha256, startCluster, stopCluster } from './support/cluster.js';
import { startOn } from './support/devices.js';

const MEMBERS = [0, 1, 2];
const RELAY = 1;
const BYTES = 100_000;
const PROBES = 3;
/** For a hang. */
const LIMIT_MS = 60_000;

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function onSoftDevices(transport: 'shm' | 'tcp'): Promise<RdmcNode[]> {
  const nodes = await startCluster(MEMBERS.length, { device: { device: 'soft', transport } });
  undo.push(() => stopCluster(nodes));
  return nodes;
}

async function onFakeDevices(): Promise<RdmcNode[]> {
  const devices = ['fake0', 'fake1', 'fake2'];
  const machine = new FakeMachine(...devices);
  const restore = useFake({ DEVICES: devices.join(), FOLDER: machine.folder });
  undo.push(restore);
  const nodes = await startOn(devices);
  undo.push(() => stopCluster(nodes));
  return nodes;
}

/** A chain is stalled while its relay does not have memory: the only completions are those of probes. */
async function expectToOutliveProbes(nodes: readonly RdmcNode[]): Promise<void> {
  const asked = new Deferred<void>();
  const memory = new Deferred<void>();
  const groups = await Promise.all(
    MEMBERS.map((id) =>
      nodes[id]!.createGroup({
        ...{ id: 1, members: MEMBERS, algorithm: 'chain', blockBytes: 1000, retryTimeoutMs: 30_000 },
        incoming: async (byteLength) => {
          if (id === RELAY) {
            asked.resolve();
            await memory.promise;
          }
          return nodes[id]!.allocate(byteLength);
        },
      }),
    ),
  );
  const collecting = groups.slice(1).map(collect);
  const region = await filledRegion(nodes[0]!, BYTES, 1);
  const sending = groups[0]!.send(region);
  await asked.promise;
  for (const node of nodes) {
    const before = node.counters().completions;
    await expect
      .poll(() => node.counters().completions, { timeout: LIMIT_MS })
      .toBeGreaterThanOrEqual(before + PROBES);
  }
  memory.resolve();
  await sending;
  await Promise.all(groups.map((group) => group.close()));
  const hash = sha256(region.view());
  expect(await Promise.all(collecting)).toEqual([1, 2].map(() => [{ number: 0, byteLength: BYTES, hash }]));
  await region.close();
}

describe('probes of silent neighbours', () => {
  it.each(['shm', 'tcp'] as const)(
    'are answered by the soft device over %s, and the group continues',
    async (transport) => expectToOutliveProbes(await onSoftDevices(transport)),
    LIMIT_MS,
  );

  it.skipIf(fakeLibrary.missing)(
    `are answered by an RDMA device, and the group continues ${fakeLibrary.missing}`,
    async () => expectToOutliveProbes(await onFakeDevices()),
    LIMIT_MS,
  );
});
