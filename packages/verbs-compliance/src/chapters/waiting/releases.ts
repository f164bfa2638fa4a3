import assert from 'node:assert/strict';
import type { SendWorkRequest } from '@rdmc/verbs';
import { range } from '../../rig/expect.js';
import { connected, type Peer } from '../../rig/peer.js';
import { remoteByte } from '../../rig/remote-byte.js';
import type { SuiteContext } from '../../suite-context.js';
import { LIMIT_MS } from '../../wait.js';
import { relayOf } from './relay.js';

const SIZE = 100_000;
const RELEASE = 0x5a;
const needs = ['waitFor'] as const;

/** Requests that wait are executed when what they wait for has come, and not before. */
export function releases({ test }: SuiteContext): void {
  test('a SEND that waits sends what was received', { needs, bothWays: true }, async (a, b) => {
    const { from, incoming, outgoing, to } = await relayOf(a, b);
    const [source, buffer, sink] = await Promise.all([a.region(SIZE), b.region(SIZE), a.region(SIZE)]);
    await Promise.all([source.fill(1), buffer.fill(50), sink.fill(50)]);
    await Promise.all([
      incoming.receive({ id: 1, sges: [buffer.sge()] }),
      to.receive({ id: 2, sges: [sink.sge()] }),
    ]);
    const request = { id: 3, opcode: 'SEND', sges: [buffer.sge()] } as const;
    await outgoing.post({ ...request, waitFor: [incoming.received(1)] });
    await to.nothingMore();
    await from.run({ opcode: 'SEND', sges: [source.sge()] });
    await Promise.all([to.done(2), incoming.done(1), outgoing.done(3)]);
    await sink.holds(1);
  });

  const operations: readonly [title: string, request: Omit<SendWorkRequest, 'id'>][] = [
    ['WRITE', { opcode: 'WRITE' }],
    ['WRITE_WITH_IMM', { opcode: 'WRITE_WITH_IMM', immediate: 7 }],
    ['READ', { opcode: 'READ' }],
    ['FETCH_AND_ADD', { opcode: 'FETCH_AND_ADD', compareOrAdd: 1n }],
  ];
  for (const [title, request] of operations) {
    const all = title === 'FETCH_AND_ADD' ? ([...needs, 'atomics'] as const) : needs;
    test(`a ${title} that waits for a WRITE_WITH_IMM`, { needs: all }, async (a, b) => {
      const { from, incoming, outgoing, to } = await relayOf(a, b);
      const [mine, theirs] = await Promise.all([b.region(8), a.region(8)]);
      await Promise.all([incoming.receive({ id: 1 }), to.receive({ id: 2 })]);
      const memory = { sges: [mine.sge()], remote: theirs.remote() };
      await outgoing.post({ id: 3, ...request, ...memory, waitFor: [incoming.received(1)] });
      await outgoing.nothingMore();
      await from.run({ opcode: 'WRITE_WITH_IMM', immediate: 1, remote: mine.remote() });
      await outgoing.done(3);
    });
  }

  test('inline bytes are those of the posting', { needs }, async (a, b) => {
    const { from, incoming, outgoing, to } = await relayOf(a, b);
    const sink = await a.region(128);
    await Promise.all([incoming.receive({ id: 1 }), to.receive({ id: 2, sges: [sink.sge()] })]);
    const inline = new Uint8Array(128).fill(9);
    const request = { id: 3, opcode: 'SEND', inline, waitFor: [incoming.received(1)] } as const;
    await b.call('postInlineAndScribble', { qp: outgoing.qp, request });
    await from.run({ opcode: 'SEND' });
    await to.done(2);
    assert.ok((await sink.read()).every((byte) => byte === 9));
  });
  orders({ test });
  counts({ test });
}

function orders({ test }: Pick<SuiteContext, 'test'>): void {
  for (const [title, order] of [
    ['in their order', [0, 1, 2]],
    ['in another order', [2, 0, 1]],
  ] as const) {
    test(`several conditions that come ${title}`, { needs }, async (a, b) => {
      const { outgoing, to } = await relayOf(a, b);
      const inputs = await Promise.all(range(3).map(() => connected(a, b)));
      await to.receive({ id: 2 });
      for (const [, incoming] of inputs) await incoming.receive({ id: 1 });
      const waitFor = inputs.map(([, incoming]) => incoming.received(1));
      await outgoing.post({ id: 3, opcode: 'SEND', waitFor });
      for (const [at, which] of order.entries()) {
        await inputs[which]![0].run({ opcode: 'SEND' });
        if (at < order.length - 1) await to.nothingMore();
      }
      await Promise.all([to.done(2), outgoing.done(3)]);
    });
  }

  test('requests behind it wait, other queue pairs go on', { needs }, async (a, b) => {
    const { from, incoming, outgoing } = await relayOf(a, b);
    const [other] = await connected(b, a);
    const [mine, target] = await Promise.all([b.region(64), a.region(64)]);
    await Promise.all([mine.fill(1), target.fill(50), incoming.receive({ id: 1 })]);
    const write = { opcode: 'WRITE', sges: [mine.sge(0, 8)] } as const;
    await outgoing.post(
      { id: 1, ...write, remote: target.remote(0) },
      { id: 2, ...write, remote: target.remote(8), waitFor: [incoming.received(1)] },
      { id: 3, ...write, remote: target.remote(16) },
    );
    await outgoing.done(1);
    await other.run({ ...write, remote: target.remote(24) });
    await outgoing.nothingMore();
    await Promise.all([target.holds(1, 0, 8), target.holds(1, 24, 8, 0), target.holds(50, 8, 16, 8)]);
    await from.run({ opcode: 'SEND' });
    await outgoing.ends([
      [2, 'SUCCESS'],
      [3, 'SUCCESS'],
    ]);
    await Promise.all([target.holds(1, 8, 8, 0), target.holds(1, 16, 8, 0)]);
  });

  test('a condition that holds already', { needs }, async (a, b) => {
    const { from, incoming, outgoing, to } = await relayOf(a, b);
    await Promise.all([incoming.receive({ id: 1 }, { id: 2 }), to.receive({ id: 1 }, { id: 2 })]);
    await from.run({ opcode: 'SEND' });
    await from.run({ opcode: 'SEND' });
    await incoming.done(1);
    // The second one was not polled.
    const waitFor = [incoming.received(2)];
    await outgoing.run({ opcode: 'SEND', waitFor });
    await outgoing.run({ opcode: 'SEND', waitFor: [incoming.received(1)] });
    await to.ends([
      [1, 'SUCCESS'],
      [2, 'SUCCESS'],
    ]);
  });

  test('a queue pair that answers what it receives itself', { needs }, async (a, b) => {
    const [near, far] = await connected(a, b);
    const rounds = 3;
    await far.receive(...range(rounds).map((id) => ({ id })));
    await near.receive(...range(rounds).map((id) => ({ id })));
    const answers = range(rounds).map((id) => {
      return { id, opcode: 'SEND', signaled: false, waitFor: [far.received(id + 1)] } as const;
    });
    await far.post(...answers);
    for (const round of range(rounds)) {
      await near.post({ id: 9, opcode: 'SEND', signaled: false });
      await near.done(round);
    }
  });
}

/** `b` relays what `a` sends, `rounds` messages posted ahead; returns when `a` has got all of them. */
async function relayRounds(a: Peer, b: Peer, rounds: number): Promise<void> {
  const bytes = 512;
  const { from, incoming, outgoing, to } = await relayOf(a, b);
  const [source, buffer, sink] = await Promise.all([
    a.region(bytes * rounds),
    b.region(bytes * rounds),
    a.region(bytes * rounds),
  ]);
  await source.fill(1);
  const part = (region: typeof source, id: number) => [region.sge(id * bytes, bytes)];
  await incoming.receive(...range(rounds).map((id) => ({ id, sges: part(buffer, id) })));
  await to.receive(...range(rounds).map((id) => ({ id, sges: part(sink, id) })));
  const relayed = range(rounds).map((id) => {
    return { id, opcode: 'SEND', sges: part(buffer, id), waitFor: [incoming.received(id + 1)] } as const;
  });
  await outgoing.post(...relayed);
  const sends = range(rounds).map((id) => ({ id, opcode: 'SEND', sges: part(source, id) }) as const);
  await from.post(...sends);
  const all = range(rounds).map((id) => [id, 'SUCCESS'] as const);
  await Promise.all([to.ends(all), outgoing.ends(all), incoming.ends(all)]);
  await sink.holds(1);
}

function counts({ test }: Pick<SuiteContext, 'test'>): void {
  test('60 messages, relayed by requests that were posted ahead', { needs, bothWays: true }, (a, b) =>
    relayRounds(a, b, 60),
  );

  const busy = { needs: ['waitFor', 'secondThread'] } as const;
  test('the relay’s thread does not run JavaScript', busy, async (a, b) => {
    const { from, incoming, outgoing, to } = await relayOf(a, b);
    const [flags, scratch] = await Promise.all([b.region(64), connected(a, b)]);
    await Promise.all([flags.write(new Uint8Array(64)), incoming.receive({ id: 1 }), to.receive({ id: 2 })]);
    await outgoing.post({ id: 3, opcode: 'SEND', waitFor: [incoming.received(1)] });
    const blocked = { region: flags.handle, offset: 0, releaseValue: RELEASE, limitMs: LIMIT_MS };
    const releasedInTime = b.call('blockUntilWritten', blocked);
    const [near] = scratch;
    await remoteByte(near, flags, 0, 1);
    await from.run({ opcode: 'SEND' });
    await to.done(2);
    await near.run({ opcode: 'WRITE', inline: Uint8Array.of(RELEASE), remote: flags.remote(1) });
    assert.equal(await releasedInTime, true, 'the relay was blocked while it relayed');
    await Promise.all([incoming.done(1), outgoing.done(3)]);
  });
}
