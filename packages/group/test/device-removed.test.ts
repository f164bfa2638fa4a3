import type { RdmcNode } from '@rdmc/group';
import { rejection } from '@rdmc/testing';
import { VerbsError } from '@rdmc/verbs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeMachine, fakeLibrary, useFake } from '../../verbs/test/support/fake-library.js';
import { collect, createEverywhere, filledRegion, sha256, stopCluster } from './support/cluster.js';
import { startOn } from './support/devices.js';

const DEVICES = ['fake0', 'fake1', 'fake2'];
const LOST = 1;
const BYTES = 100_000;

describe.skipIf(fakeLibrary.missing)(`an RDMA device that goes ${fakeLibrary.missing}`, () => {
  let machine: FakeMachine;
  let restore: () => void;
  let nodes: RdmcNode[];
  beforeEach(async () => {
    machine = new FakeMachine(...DEVICES);
    restore = useFake({ DEVICES: DEVICES.join(), FOLDER: machine.folder });
    nodes = await startOn(DEVICES);
  });
  afterEach(async () => {
    await stopCluster(nodes);
    restore();
  });

  it('is the loss of its own member, which reports it; the others continue', async () => {
    // A message is stalled at the relay of a chain: its neighbours cannot detect the loss themselves.
    const stalled = new Promise<never>(() => {});
    const groups = await Promise.all(
      [0, LOST, 2].map((id) =>
        nodes[id]!.createGroup({
          ...{ id: 1, members: [0, LOST, 2], algorithm: 'chain', blockBytes: 1000 },
          incoming: (byteLength) => (id === LOST ? stalled : nodes[id]!.allocate(byteLength)),
        }),
      ),
    );
    const region = await filledRegion(nodes[0]!, BYTES, 1);
    const pending = [groups[0]!.send(region), collect(groups[1]!), collect(groups[2]!)].map(rejection);
    machine.remove(DEVICES[LOST]!);
    const [root, relay, leaf] = await Promise.all(pending);
    for (const error of [root, leaf]) {
      expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: LOST });
      expect(error!.message).toContain('its RDMA device is gone');
    }
    expect(relay).toMatchObject({ code: 'ERR_RDMC_DEVICE_REMOVED', memberId: LOST });
    const survivors = await createEverywhere(nodes, { id: 2, members: [0, 2] });
    const collecting = collect(survivors[1]!);
    await survivors[0]!.send(region);
    await Promise.all(survivors.map((group) => group.close()));
    expect(await collecting).toEqual([{ number: 0, byteLength: BYTES, hash: sha256(region.view()) }]);
    await region.close();
  });

  it('is named as the cause where memory for a message was asked for first', async () => {
    const cause = new VerbsError('ERR_RDMC_DEVICE_REMOVED', 'fake1 is gone');
    const [root, receiver] = await Promise.all([
      nodes[0]!.createGroup({ id: 1, members: [0, LOST] }),
      nodes[LOST]!.createGroup({ id: 1, members: [0, LOST], incoming: () => Promise.reject(cause) }),
    ]);
    const region = await filledRegion(nodes[0]!, BYTES, 1);
    const sending = rejection(root!.send(region));
    expect(await rejection(collect(receiver!))).toMatchObject({
      code: 'ERR_RDMC_DEVICE_REMOVED',
      memberId: LOST,
    });
    expect(await sending).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: LOST });
    await region.close();
  });
});
