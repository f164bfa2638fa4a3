import assert from 'node:assert/strict';
import { connected, joinEnds } from '../../rig/peer.js';
import type { SuiteContext } from '../../suite-context.js';
import { relayOf } from './relay.js';

const needs = ['waitFor', 'secondProcess', 'flushOnPeerDeath'] as const;
const FLUSHED = [
  [1, 'WORK_REQUEST_FLUSHED'],
  [2, 'WORK_REQUEST_FLUSHED'],
] as const;

/** Processes are killed while requests wait. */
export function deaths({ test, startPeer, peerDeathLimitMs }: SuiteContext): void {
  test('the origin of what is awaited is killed: flushed', { needs }, async (a, b) => {
    const victim = await startPeer();
    const [[, incoming], [outgoing, to], [other, far]] = await Promise.all([
      connected(victim, a),
      connected(a, b),
      connected(a, b),
    ]);
    await Promise.all([incoming.receive({ id: 5 }), to.receive({ id: 6 }), far.receive({ id: 7 })]);
    const waitFor = [incoming.received(1)];
    await outgoing.post({ id: 1, opcode: 'SEND', waitFor }, { id: 2, opcode: 'SEND' });
    await victim.link.stop();
    await outgoing.ends(FLUSHED, peerDeathLimitMs);
    await incoming.ends([[5, 'WORK_REQUEST_FLUSHED']], peerDeathLimitMs);
    await other.run({ opcode: 'SEND' });
    await far.done(7);
  });

  test('the target of a request that waits is killed: flushed', { needs }, async (a, b) => {
    const victim = await startPeer();
    const [[from, incoming], [outgoing]] = await Promise.all([connected(b, a), connected(a, victim)]);
    await incoming.receive({ id: 5 });
    const waitFor = [incoming.received(1)];
    await outgoing.post({ id: 1, opcode: 'SEND', waitFor }, { id: 2, opcode: 'SEND' });
    await victim.link.stop();
    await outgoing.ends(FLUSHED, peerDeathLimitMs);
    await from.run({ opcode: 'SEND' });
    await incoming.done(5);
  });

  test('the relay is killed: both neighbours learn of it, and can go on', { needs }, async (a, b) => {
    const victim = await startPeer();
    const { from, incoming, outgoing, to } = await relayOf(a, victim);
    await Promise.all([incoming.receive({ id: 1 }), to.receive({ id: 2 })]);
    await outgoing.post({ id: 3, opcode: 'SEND', waitFor: [incoming.received(2)] });
    await from.run({ opcode: 'SEND' });
    await from.post({ id: 4, opcode: 'SEND' });
    await victim.link.stop();
    await to.ends([[2, 'WORK_REQUEST_FLUSHED']], peerDeathLimitMs);
    const [completion] = await from.poll(1, peerDeathLimitMs);
    assert.ok(['RETRY_EXCEEDED', 'WORK_REQUEST_FLUSHED'].includes(completion!.status), completion!.status);
    const [near, far] = await Promise.all([a.end(), b.end()]);
    await joinEnds(near, far);
    await far.receive({ id: 5 });
    await near.run({ opcode: 'SEND' });
    await far.done(5);
  });
}
