import assert from 'node:assert/strict';
import type { StatusName } from '@rdmc/verbs';
import type { End } from '../rig/end.js';
import { range } from '../rig/expect.js';
import { connected, type Peer } from '../rig/peer.js';
import type { SuiteContext } from '../suite-context.js';

const SIZE = 1_048_576;
/** Longer than any test, so that an event cannot be mistaken for a time-out. */
const NEVER_MS = 600_000;

async function kill(peer: Peer): Promise<void> {
  await peer.link.stop();
}

/** Statuses of `count` completions that arrive within the limit. */
async function statuses(end: End, count: number, limitMs: number): Promise<StatusName[]> {
  return (await end.poll(count, limitMs)).map(({ status }) => status);
}

export function peerDeath({ test, startPeer, peerDeathLimitMs, spec }: SuiteContext): void {
  const needs = ['secondProcess', 'retryExceededOnPeerDeath'] as const;
  const options = { connect: spec.features.flushOnPeerDeath ? { retryTimeoutMs: NEVER_MS } : {} };

  test('a SEND that waits ends with RETRY_EXCEEDED, the rest is flushed', { needs }, async (a) => {
    const victim = await startPeer();
    const [near] = await connected(a, victim, options);
    await near.post(...range(3).map((id) => ({ id, opcode: 'SEND' }) as const));
    await kill(victim);
    assert.deepEqual(await statuses(near, 3, peerDeathLimitMs), [
      'RETRY_EXCEEDED',
      'WORK_REQUEST_FLUSHED',
      'WORK_REQUEST_FLUSHED',
    ]);
    assert.equal(await near.state(), 'ERROR');
  });

  const flush = ['secondProcess', 'flushOnPeerDeath'] as const;
  test('posted receives are flushed in order, without a send', { needs: flush }, async (a) => {
    const victim = await startPeer();
    const [near] = await connected(a, victim, options);
    await near.receive(...range(8).map((id) => ({ id })));
    await kill(victim);
    const flushed = range(8).map((id) => [id, 'WORK_REQUEST_FLUSHED'] as const);
    await near.ends(flushed, peerDeathLimitMs);
    assert.equal(await near.state(), 'ERROR');
  });

  for (const opcode of ['WRITE', 'READ', 'SEND'] as const) {
    test(`no ${opcode} posted after the death succeeds`, { needs }, async (a) => {
      const victim = await startPeer();
      const [near, far] = await connected(a, victim, options);
      const [mine, theirs] = await Promise.all([a.region(SIZE), victim.region(SIZE)]);
      await far.receive(...range(4).map((id) => ({ id, sges: [theirs.sge()] })));
      await near.run({ opcode: 'WRITE', sges: [mine.sge()], remote: theirs.remote() });
      await kill(victim);
      await near.post({ id: 1, opcode, sges: [mine.sge()], remote: theirs.remote() });
      const [status] = await statuses(near, 1, peerDeathLimitMs);
      assert.ok(status === 'RETRY_EXCEEDED' || status === 'WORK_REQUEST_FLUSHED', status);
    });
  }

  test('killed while WRITEs run: successes, then failures only', { needs }, async (a) => {
    const victim = await startPeer();
    const [near] = await connected(a, victim, options);
    const size = Math.min(64 * SIZE, a.attributes.maxMessageBytes);
    const [mine, theirs] = await Promise.all([a.region(size), victim.region(size)]);
    const count = 32;
    const request = { opcode: 'WRITE', sges: [mine.sge()], remote: theirs.remote() } as const;
    // The last request waits for a receive: a machine that delays the kill may have completed all WRITEs before.
    const writes = range(count - 1).map((id) => ({ id, ...request }));
    await near.post(...writes, { id: count - 1, opcode: 'SEND' });
    const [first] = await near.poll(1);
    assert.equal(first!.status, 'SUCCESS');
    await kill(victim);
    const rest = await statuses(near, count - 1, peerDeathLimitMs);
    const failed = rest.findIndex((status) => status !== 'SUCCESS');
    assert.ok(failed >= 0, 'the SEND did not succeed');
    // A kernel that cleans up after the dead process may remove the memory before the queue pair.
    const cleanedUp = spec.features.flushOnPeerDeath ? [] : ['REMOTE_ACCESS_ERROR'];
    assert.ok(['RETRY_EXCEEDED', ...cleanedUp].includes(rest[failed]!), rest[failed]);
    assert.ok(rest.slice(failed + 1).every((status) => status === 'WORK_REQUEST_FLUSHED'));
  });

  test('the death of one peer does not affect connections to others', { needs }, async (a, b) => {
    const victim = await startPeer();
    const [lost] = await connected(a, victim, options);
    const [near, far] = await connected(a, b);
    await lost.post({ id: 1, opcode: 'SEND' });
    await kill(victim);
    await lost.ends([[1, 'RETRY_EXCEEDED']], peerDeathLimitMs);
    await far.receive({ id: 2 });
    await near.run({ opcode: 'SEND' });
    await far.done(2);
  });

  test('a connection to a successor of a dead peer works', { needs }, async (a) => {
    const victim = await startPeer();
    await connected(a, victim, options);
    await kill(victim);
    const successor = await startPeer();
    const [near, far] = await connected(a, successor);
    await far.receive({ id: 2 });
    await near.run({ opcode: 'SEND' });
    await far.done(2);
  });

  test(
    'the other side closes its queue pair: RETRY_EXCEEDED, then flushes',
    { bothWays: true },
    async (a, b) => {
      const [near, far] = await connected(a, b);
      await near.post({ id: 1, opcode: 'SEND' }, { id: 2, opcode: 'SEND' });
      await far.close();
      await near.ends([
        [1, 'RETRY_EXCEEDED'],
        [2, 'WORK_REQUEST_FLUSHED'],
      ]);
      assert.equal(await near.state(), 'ERROR');
    },
  );

  test('the other side closes its device: RETRY_EXCEEDED', {}, async (a) => {
    const leaver = await startPeer();
    const [near] = await connected(a, leaver);
    await near.post({ id: 1, opcode: 'SEND' });
    await leaver.reset();
    await leaver.call('close', { handle: leaver.device });
    await near.ends([[1, 'RETRY_EXCEEDED']]);
  });

  test('a terminated worker closes its device', { needs: ['secondThread'] }, async (a) => {
    const victim = await startPeer();
    const [near] = await connected(a, victim, options);
    await near.post({ id: 1, opcode: 'SEND' });
    await victim.link.stop();
    await near.ends([[1, 'RETRY_EXCEEDED']]);
  });
}
