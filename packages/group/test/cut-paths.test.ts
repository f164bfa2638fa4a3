import { Deferred } from '@rdmc/common';
import { type Delivery, type NodeOptions, RdmcNode } from '@rdmc/group';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { rejection } from '@rdmc/testing';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type FakeLink,
  FakeMachine,
  type FakeSettings,
  fakeLibrary,
  useFake,
} from '../../verbs/test/support/fake-library.js';
import { collect, filledRegion, stopCluster } from './support/cluster.js';
import { MeshValve } from './support/mesh-valve.js';

/** A value of enum ibv_event_type. */
const PORT_ERR = 10;
const DEVICES = ['fake0', 'fake1', 'fake2'];
/** The relay has the lowest id: the others dial it, so that one valve has all its connections. */
const [RELAY, ROOT, LEAF] = [0, 1, 2];
const CHAIN = [ROOT, RELAY, LEAF];
const RETRY_MS = 1_000;
/** For a hang. How long it takes until all know is tested on another clock (`time-to-know.test.ts`): a busy machine adds to it here. */
const TEST_MS = 60_000;

let machine: FakeMachine;
let restore: () => void;
let valve: MeshValve;
let nodes: RdmcNode[];

/** Node i on fake device i; the relay's connections of the mesh pass the valve. */
async function start(settings: FakeSettings = {}, options: Partial<NodeOptions> = {}): Promise<void> {
  machine = new FakeMachine(...DEVICES);
  restore = useFake({ DEVICES: DEVICES.join(), FOLDER: machine.folder, ...settings });
  const reserved = await reserveLoopbackPorts(DEVICES.length);
  valve = await MeshValve.before(reserved[RELAY]!.port);
  const members = reserved.map(({ host, port }, id) => ({
    id,
    ...(id === RELAY ? valve.address : { host, port }),
  }));
  nodes = await Promise.all(
    reserved.map(({ server }, id) => {
      const own = { id, members, server, windowMs: 0, device: DEVICES[id]! };
      // The mesh does not detect silence, unless a test enables that.
      return RdmcNode.join({ ...own, silenceTimeoutMs: 0, ...options });
    }),
  );
}

afterEach(async () => {
  await stopCluster(nodes);
  valve.close();
  restore();
});

/**
 * A message is stalled in the middle of the chain: its receivers do not have memory for it, and the first block has
 * gone as far as it can. No member has a request under way. Returns the error of each member, by id.
 */
async function standStill(delivery: Delivery = 'received'): Promise<{ readonly errors: Promise<unknown[]> }> {
  const asked = nodes.map(() => new Deferred<void>());
  const groups = await Promise.all(
    nodes.map((node, id) =>
      node.createGroup({
        ...{
          id: 1,
          members: CHAIN,
          algorithm: 'chain',
          blockBytes: 1000,
          retryTimeoutMs: RETRY_MS,
          delivery,
        },
        incoming: () => {
          asked[id]!.resolve();
          return new Promise<never>(() => {});
        },
      }),
    ),
  );
  const region = await filledRegion(nodes[ROOT]!, 100_000, 1);
  const sending = rejection(groups[ROOT]!.send(region));
  const errors = Promise.all([collect(groups[RELAY]!), sending, collect(groups[LEAF]!)].map(ended));
  const isStill = Promise.all([RELAY, LEAF].map((id) => asked[id!]!.promise));
  // A group that fails before does not ask.
  await Promise.race([isStill, errors.then((all) => Promise.reject(all[0]))]);
  return { errors };
}

/** The error with which a promise rejects, or its value. */
async function ended(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: unknown) => error);
}

const LOST = { code: 'ERR_RDMC_MEMBER_LOST' };

describe.skipIf(fakeLibrary.missing)(`paths that are cut while all wait ${fakeLibrary.missing}`, () => {
  const cases: readonly (readonly [FakeLink, 'intact' | 'in' | 'out' | 'both'])[] = [
    ['cut', 'intact'],
    ['deaf', 'intact'],
    ['mute', 'intact'],
    ['cut', 'both'],
    ['deaf', 'in'],
    ['mute', 'out'],
  ];
  it.each(cases)(
    'the relay’s device is %s, its mesh connections %s: all detect it before the silence time-out of the mesh',
    async (link, mesh) => {
      await start();
      const { errors } = await standStill();
      if (mesh !== 'intact') valve.cut(mesh);
      machine.setLink(DEVICES[RELAY]!, link);
      for (const error of await errors) expect(error).toMatchObject(LOST);
    },
    TEST_MS,
  );

  it.each(['in', 'out', 'both'] as const)(
    'only the relay’s mesh connections are cut (%s): all detect it by the silence time-out of the mesh',
    async (mesh) => {
      await start({}, { heartbeatMs: 100, silenceTimeoutMs: 500 });
      const { errors } = await standStill();
      valve.cut(mesh);
      for (const error of await errors) expect(error).toMatchObject(LOST);
    },
    TEST_MS,
  );

  it(
    'the relay’s port goes down, and its device reports that: all name the relay',
    async () => {
      await start();
      const { errors } = await standStill();
      machine.raise(DEVICES[RELAY]!, PORT_ERR, 1);
      machine.setLink(DEVICES[RELAY]!, 'cut');
      for (const error of await errors) expect(error).toMatchObject({ ...LOST, memberId: RELAY });
    },
    TEST_MS,
  );

  it(
    'the relay’s device cannot send: all name the relay',
    async () => {
      await start({ RXE: '1' });
      const { errors } = await standStill();
      machine.setLink(DEVICES[RELAY]!, 'down');
      for (const error of await errors) expect(error).toMatchObject({ ...LOST, memberId: RELAY });
    },
    TEST_MS,
  );

  it(
    'with stable delivery, devices that neither complete nor fail their requests: nobody waits for a row',
    async () => {
      await start();
      const { errors } = await standStill('stable');
      for (const device of DEVICES) machine.setLink(device, 'lost');
      for (const error of await errors) expect(error).toMatchObject({ code: 'ERR_RDMC_GROUP_MINORITY' });
    },
    TEST_MS,
  );

  it(
    'devices that neither complete nor fail their requests: all detect it',
    async () => {
      await start();
      const { errors } = await standStill();
      for (const device of DEVICES) machine.setLink(device, 'lost');
      for (const error of await errors) {
        expect(error).toMatchObject({
          ...LOST,
          reason: expect.stringContaining(`did not answer for ${RETRY_MS} ms`),
        });
      }
    },
    TEST_MS,
  );
});
