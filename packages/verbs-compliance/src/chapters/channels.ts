import assert from 'node:assert/strict';
import { remoteKey } from '@rdmc/verbs';
import { range } from '../rig/expect.js';
import { connected, type Peer } from '../rig/peer.js';
import type { SuiteContext } from '../suite-context.js';
import { LONG_MS } from '../wait.js';

const ALL_ROUNDS = 10_000;
const BLOCKED_ROUNDS = 20;

function channelOf(peer: Peer): Promise<number> {
  return peer.call('createChannel', { device: peer.device });
}

export function channels({ test, rounds: roundsOf }: SuiteContext): void {
  test('arm, event, poll, arm again', { bothWays: true }, async (a, b) => {
    const channel = await channelOf(b);
    const [near, far] = await connected(a, b, {}, { channel });
    await far.receive(...range(4).map((id) => ({ id })));
    let events = 0;
    for (const id of range(4)) {
      await b.call('arm', { cq: far.cq });
      await near.run({ opcode: 'SEND' }, id);
      events = await b.call('waitEvent', { channel, beyond: events });
      await far.done(id);
    }
  });

  test('a queue that is not armed does not raise events', {}, async (a, b) => {
    const channel = await channelOf(b);
    const [near, far] = await connected(a, b, {}, { channel });
    await far.receive({ id: 1 }, { id: 2 });
    await near.run({ opcode: 'SEND' });
    await far.done(1);
    assert.equal(await b.call('events', { channel }), 0);
    await b.call('arm', { cq: far.cq });
    await near.run({ opcode: 'SEND' });
    await b.call('waitEvent', { channel, beyond: 0 });
    await far.done(2);
  });

  test('a thread blocks until a completion comes', { needs: ['secondThread'] }, async (a, b) => {
    const channel = await channelOf(b);
    const [near, far] = await connected(a, b, {}, { channel });
    const ids = range(BLOCKED_ROUNDS);
    await far.receive(...ids.map((id) => ({ id })));
    for (const id of ids) {
      const blocked = b.call('waitBlocked', { cq: far.cq });
      await near.run({ opcode: 'SEND' });
      assert.deepEqual(
        (await blocked).map((done) => [done.id, done.status]),
        [[id, 'SUCCESS']],
      );
    }
  });

  test('a wait ends with its time, and takes what is there at once', {}, async (a, b) => {
    const channel = await channelOf(b);
    const [near, far] = await connected(a, b, {}, { channel });
    assert.deepEqual(await b.call('waitBlocked', { cq: far.cq, limitMs: 1 }), []);
    await far.receive({ id: 1 });
    await near.run({ opcode: 'SEND' });
    const [done] = await b.call('waitBlocked', { cq: far.cq });
    assert.equal(done!.id, 1);
  });

  test('a queue without a channel cannot be waited for', {}, async (a) => {
    const cq = await a.call('createCompletionQueue', { device: a.device });
    await assert.rejects(a.call('waitBlocked', { cq, limitMs: 1 }), { code: 'ERR_RDMC_INVALID_OPTION' });
  });

  test('one channel serves many queues', {}, async (a, b) => {
    const channel = await channelOf(b);
    const pairs = await Promise.all(range(5).map(() => connected(a, b, {}, { channel })));
    for (const [, far] of pairs) await far.receive({ id: 1 });
    for (const [near, far] of pairs) {
      const beyond = await b.call('events', { channel });
      await b.call('arm', { cq: far.cq });
      await near.run({ opcode: 'SEND' });
      await b.call('waitEvent', { channel, beyond });
      await far.done(1);
    }
  });

  test('a new queue in the slot of an old one wakes like the first', {}, async (a, b) => {
    for (const round of range(5)) {
      const channel = await channelOf(b);
      const [near, far] = await connected(a, b, {}, { channel });
      await far.receive({ id: round });
      await b.call('arm', { cq: far.cq });
      await near.run({ opcode: 'SEND' });
      await b.call('waitEvent', { channel, beyond: 0 });
      await far.done(round);
      await Promise.all([a.reset(), b.reset()]);
    }
  });

  test('send completions and flushes raise events too', {}, async (a, b) => {
    const channel = await channelOf(a);
    const [near, far] = await connected(a, b, { channel }, {});
    await far.receive({ id: 1 });
    await a.call('arm', { cq: near.cq });
    await near.post({ id: 1, opcode: 'SEND' });
    const events = await a.call('waitEvent', { channel, beyond: 0 });
    await near.done(1);
    await near.receive({ id: 2 });
    await a.call('arm', { cq: near.cq });
    await near.modifyToError();
    await a.call('waitEvent', { channel, beyond: events });
    await near.ends([[2, 'WORK_REQUEST_FLUSHED']]);
  });

  const silent = { needs: ['silentUnlessSolicited'] } as const;
  test('armed for solicited ones, other completions do not wake', silent, async (a, b) => {
    const channel = await channelOf(b);
    const [near, far] = await connected(a, b, {}, { channel });
    await far.receive({ id: 1 });
    await b.call('arm', { cq: far.cq, solicitedOnly: true });
    await near.run({ opcode: 'SEND' });
    await far.done(1);
    await near.receive({ id: 1 });
    await far.run({ opcode: 'SEND' });
    await near.done(1);
    const events = await b.call('events', { channel });
    assert.equal(events, 0, 'events for an unsolicited message, or for its own send');
  });

  test('armed for solicited ones, a solicited message or an error wakes', {}, async (a, b) => {
    const channel = await channelOf(b);
    const [near, far] = await connected(a, b, {}, { channel });
    await far.receive({ id: 1 }, { id: 2 });
    await b.call('arm', { cq: far.cq, solicitedOnly: true });
    await near.run({ opcode: 'SEND', solicited: true });
    const events = await b.call('waitEvent', { channel, beyond: 0 });
    await far.done(1);
    await b.call('arm', { cq: far.cq, solicitedOnly: true });
    await far.modifyToError();
    await b.call('waitEvent', { channel, beyond: events });
    await far.ends([[2, 'WORK_REQUEST_FLUSHED']]);
  });

  test('armed for solicited ones, a send that fails wakes', {}, async (a, b) => {
    const channel = await channelOf(a);
    const [near] = await connected(a, b, { channel }, {});
    await a.call('arm', { cq: near.cq, solicitedOnly: true });
    // A key of no region.
    await near.post({
      id: 1,
      opcode: 'WRITE',
      inline: new Uint8Array(8),
      remote: { address: 4096, rkey: remoteKey(0x7fff_fff0) },
    });
    await a.call('waitEvent', { channel, beyond: 0 });
    await near.ends([[1, 'REMOTE_ACCESS_ERROR']]);
  });

  test('armed for solicited ones, a receive that fails wakes', {}, async (a, b) => {
    const channel = await channelOf(b);
    const [near, far] = await connected(a, b, {}, { channel });
    // Too short for the message. A second receive would be flushed, which wakes too.
    await far.receive({ id: 1 });
    await b.call('arm', { cq: far.cq, solicitedOnly: true });
    await near.post({ id: 2, opcode: 'SEND', inline: new Uint8Array(8) });
    await b.call('waitEvent', { channel, beyond: 0 });
    const [failed] = await far.poll(1);
    assert.equal(failed!.id, 1);
    assert.notEqual(failed!.status, 'SUCCESS');
  });

  const long = { timeoutMs: LONG_MS };
  const rounds = roundsOf(ALL_ROUNDS);
  test(`no wake-up is lost in ${rounds} rounds of random timing`, long, async (a, b) => {
    const [ours, theirs] = await Promise.all([channelOf(a), channelOf(b)]);
    const [near, far] = await connected(a, b, { channel: ours }, { channel: theirs });
    const receives = range(4).map((id) => ({ id }));
    await Promise.all([near.receive(...receives), far.receive(...receives)]);
    const slept = await Promise.all([
      a.call('pingPong', { qp: near.qp, cq: near.cq, channel: ours, rounds, seed: 11, serves: true }),
      b.call('pingPong', {
        qp: far.qp,
        cq: far.cq,
        channel: theirs,
        rounds,
        seed: 23,
        serves: false,
      }),
    ]);
    assert.ok(slept[0] + slept[1] > 0, 'some rounds slept, or nothing was tested');
  });
}
