import assert from 'node:assert/strict';
import { failsWith } from '../../rig/expect.js';
import { connected } from '../../rig/peer.js';
import type { SuiteContext } from '../../suite-context.js';
import { type Relay, relayOf } from './relay.js';

const needs = ['waitFor'] as const;
const FLUSHED = [
  [1, 'WORK_REQUEST_FLUSHED'],
  [2, 'WORK_REQUEST_FLUSHED'],
] as const;

/** A request for the second receive, and another one behind it. */
async function postWaiting({ outgoing, incoming }: Relay): Promise<void> {
  await outgoing.post({ id: 1, opcode: 'SEND', waitFor: [incoming.received(2)] }, { id: 2, opcode: 'SEND' });
}

/** One receive came; the second one will not. */
const FAILURES: readonly [title: string, fail: (relay: Relay) => Promise<void>][] = [
  ['moves to the error state', ({ incoming }) => incoming.modifyToError()],
  ['is closed', ({ incoming }) => incoming.close()],
  ['loses its peer’s queue pair', ({ from }) => from.close()],
  ['fails a receive', ({ from }) => from.post({ id: 9, opcode: 'SEND', inline: new Uint8Array(16) })],
];

/** The queue pair of the requests themselves fails. */
const ENDS: readonly [title: string, end: (relay: Relay) => Promise<void>][] = [
  ['its own queue pair moves to the error state', ({ outgoing }) => outgoing.modifyToError()],
  ['the target closes its queue pair', ({ to }) => to.close()],
];

/** A wait is satisfied by success only. */
export function breaks({ test }: SuiteContext): void {
  for (const [title, fail] of FAILURES) {
    const options = { needs: [...needs, 'flushOnPeerDeath'], bothWays: true } as const;
    test(`flushed when the awaited queue pair ${title}`, options, async (a, b) => {
      const relay = await relayOf(a, b);
      const [near, far] = await connected(a, b);
      await relay.incoming.receive({ id: 1 }, { id: 2 });
      await relay.from.run({ opcode: 'SEND' });
      await postWaiting(relay);
      await fail(relay);
      await relay.outgoing.ends(FLUSHED);
      assert.equal(await relay.outgoing.state(), 'ERROR');
      await far.receive({ id: 3 });
      await near.run({ opcode: 'SEND' });
      await far.done(3);
    });
  }

  test('requests before it complete, although it cannot', { needs }, async (a, b) => {
    const { incoming, outgoing } = await relayOf(a, b);
    const [mine, target] = await Promise.all([b.region(3_000_000), a.region(3_000_000)]);
    await mine.fill(1);
    const write = { opcode: 'WRITE', sges: [mine.sge()], remote: target.remote() } as const;
    await outgoing.post({ id: 1, ...write }, { id: 2, ...write, waitFor: [incoming.received(1)] });
    await incoming.modifyToError();
    await outgoing.ends([
      [1, 'SUCCESS'],
      [2, 'WORK_REQUEST_FLUSHED'],
    ]);
    await target.holds(1);
  });

  test('what was received before the failure counts', { needs }, async (a, b) => {
    const { from, incoming, outgoing, to } = await relayOf(a, b);
    await Promise.all([incoming.receive({ id: 1 }), to.receive({ id: 2 })]);
    await from.run({ opcode: 'SEND' });
    await incoming.modifyToError();
    await outgoing.run({ opcode: 'SEND', waitFor: [incoming.received(1)] });
    await to.done(2);
  });

  for (const [title, end] of ENDS) {
    test(`flushed in order when ${title}`, { needs }, async (a, b) => {
      const relay = await relayOf(a, b);
      await relay.incoming.receive({ id: 5 }, { id: 6 });
      await postWaiting(relay);
      await end(relay);
      await relay.outgoing.ends(FLUSHED);
      // The receive that it waited for is not affected.
      await relay.from.run({ opcode: 'SEND' });
      await relay.incoming.done(5);
    });
  }

  test('its memory stays until the flush: ERR_RDMC_REGION_BUSY', { needs }, async (a, b) => {
    const { incoming, outgoing } = await relayOf(a, b);
    const region = await b.region(4_096);
    const request = { id: 1, opcode: 'SEND', sges: [region.sge()] } as const;
    await outgoing.post({ ...request, waitFor: [incoming.received(1)] });
    assert.equal(await region.outstanding(), 1);
    await failsWith(region.closeNow(), 'ERR_RDMC_REGION_BUSY');
    await incoming.modifyToError();
    await outgoing.ends([[1, 'WORK_REQUEST_FLUSHED']]);
    await region.closeNow();
  });
}
