import assert from 'node:assert/strict';
import type { WaitCondition } from '@rdmc/verbs';
import type { End } from '../../rig/end.js';
import { range, refusedAt } from '../../rig/expect.js';
import { connected, joinEnds } from '../../rig/peer.js';
import type { SuiteContext } from '../../suite-context.js';
import { type Relay, relayOf } from './relay.js';

const needs = ['waitFor'] as const;

type Conditions = (relay: Relay) => WaitCondition[] | Promise<WaitCondition[]>;

/** Conditions that cannot be met are refused at posting; nothing else is affected. */
export function refusals({ test, spec, sourceOfB }: SuiteContext): void {
  test('attributes.waitFor says whether it is possible: else ERR_RDMC_UNSUPPORTED', {}, async (a, b) => {
    assert.equal(a.attributes.waitFor ?? false, spec.features.waitFor);
    if (spec.features.waitFor) return;
    const [near, far] = await connected(a, b);
    const request = { id: 1, opcode: 'SEND', waitFor: [near.received(1)] } as const;
    await refusedAt(0, near.post(request), 'ERR_RDMC_UNSUPPORTED');
    await far.receive({ id: 2 });
    await near.run({ opcode: 'SEND' });
    await far.done(2);
  });

  const refused = (title: string, code: string, conditions: Conditions): void => {
    test(`${title}: ${code}`, { needs }, async (a, b) => {
      const relay = await relayOf(a, b);
      const { outgoing, to } = relay;
      await to.receive({ id: 5 }, { id: 6 });
      const waitFor = await conditions(relay);
      const posting = outgoing.post({ id: 1, opcode: 'SEND' }, { id: 2, opcode: 'SEND', waitFor });
      await refusedAt(1, posting, code);
      await outgoing.done(1);
      await outgoing.run({ opcode: 'SEND' }, 3);
      await to.ends([
        [5, 'SUCCESS'],
        [6, 'SUCCESS'],
      ]);
    });
  };
  refused('a closed queue pair', 'ERR_RDMC_WAIT_UNKNOWN', async ({ incoming }) => {
    await incoming.close();
    return [incoming.received(1)];
  });
  refused('a queue pair of another device', 'ERR_RDMC_WAIT_UNKNOWN', async ({ outgoing: { peer } }) => {
    const { device, nativeHandle } = await peer.call('openDevice', sourceOfB);
    const pd = await peer.call('createProtectionDomain', { device });
    const cq = await peer.call('createCompletionQueue', { device });
    const { number } = await peer.call('createQueuePair', { pd, cq });
    return [{ queuePair: { number, device: { handle: nativeHandle } }, receives: 1 }];
  });
  refused('a queue pair that has failed', 'ERR_RDMC_WAIT_BROKEN', async ({ incoming }) => {
    await incoming.modifyToError();
    return [incoming.received(1)];
  });
  refused('too many conditions', 'ERR_RDMC_TOO_MANY_WAITS', ({ incoming }) =>
    range(5).map(() => incoming.received(1)),
  );
  for (const receives of [0, -1, 1.5, Number.NaN, 2 ** 53]) {
    refused(`${receives} receives`, 'ERR_RDMC_INVALID_OPTION', ({ incoming }) => [
      incoming.received(receives),
    ]);
  }

  test('more inline bytes than beside conditions: ERR_RDMC_INLINE_TOO_LONG', { needs }, async (a, b) => {
    const { incoming, outgoing } = await relayOf(a, b);
    const request = { id: 1, opcode: 'SEND', inline: new Uint8Array(129) } as const;
    const posting = outgoing.post({ ...request, waitFor: [incoming.received(1)] });
    await refusedAt(0, posting, 'ERR_RDMC_INLINE_TOO_LONG');
  });
  circles({ test });
}

function circles({ test }: Pick<SuiteContext, 'test'>): void {
  const code = 'ERR_RDMC_WAIT_CIRCLE';
  const options = { needs: ['waitFor', 'connectToSelf'] } as const;
  const send = (id: number, ...waitFor: WaitCondition[]) => ({ id, opcode: 'SEND', waitFor }) as const;
  const receives = (...ends: End[]) =>
    Promise.all(ends.map((end) => end.receive(...range(4).map((id) => ({ id: 10 + id })))));

  test(`a receive that only a later request can cause: ${code}`, options, async (a) => {
    const [one, other] = await Promise.all([a.end(), a.end()]);
    await joinEnds(one, other);
    await receives(one, other);
    await refusedAt(0, one.post(send(1, other.received(1))), code);
    // Behind the request that causes it.
    await one.post(send(2), send(3, other.received(1)));
    await refusedAt(0, one.post(send(4, other.received(3))), code);
    await one.ends([
      [2, 'SUCCESS'],
      [3, 'SUCCESS'],
    ]);
  });

  test(`a circle of two queue pairs: ${code}`, options, async (a) => {
    const [one, other] = await Promise.all([a.end(), a.end()]);
    await joinEnds(one, other);
    await receives(one, other);
    await one.post(send(1, one.received(1)));
    await refusedAt(0, other.post(send(2, other.received(1))), code);
    await other.post(send(3), send(4, other.received(1)));
    await Promise.all([one.poll(3), other.poll(3)]);
    assert.equal(await one.state(), 'RTS');
  });
}
