import assert from 'node:assert/strict';
import { range } from '../rig/expect.js';
import { connected } from '../rig/peer.js';
import type { SuiteContext } from '../suite-context.js';

export function receiverNotReady({ test }: SuiteContext): void {
  test('a SEND without a receive waits for one', { bothWays: true }, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [other] = await connected(a, b);
    const [from, to] = await Promise.all([a.region(4_096), b.region(4_096)]);
    await from.fill(1);
    await near.post(
      { id: 1, opcode: 'SEND', sges: [from.sge()] },
      { id: 2, opcode: 'SEND', sges: [from.sge()] },
    );
    // A request of another queue pair completes meanwhile.
    await other.run({ opcode: 'WRITE', sges: [from.sge(0, 8)], remote: to.remote() });
    await near.nothingMore();
    await far.receive({ id: 10, sges: [to.sge()] });
    await Promise.all([near.done(1), far.done(10)]);
    await to.holds(1);
    await near.nothingMore();
    await far.receive({ id: 11, sges: [to.sge()] });
    await Promise.all([near.done(2), far.done(11)]);
  });

  test('requests behind a waiting SEND wait with it', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [other] = await connected(a, b);
    const [from, to] = await Promise.all([a.region(64), b.region(128)]);
    await Promise.all([from.fill(1), to.fill(50)]);
    const write = { opcode: 'WRITE', sges: [from.sge()] } as const;
    await near.post({ id: 1, opcode: 'SEND' }, { id: 2, ...write, remote: to.remote() });
    await other.run({ ...write, remote: to.remote(64) });
    await to.holds(50, 0, 64);
    await far.receive({ id: 10 });
    await far.done(10);
    await near.done(1);
    await near.done(2);
    await to.holds(1, 0, 64);
  });

  test('WRITE_WITH_IMM without a receive waits for one', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    const to = await b.region(64);
    await near.post({ id: 1, opcode: 'WRITE_WITH_IMM', immediate: 3, remote: to.remote() });
    await far.receive({ id: 10 });
    await near.done(1);
    assert.equal((await far.done(10)).immediate, 3);
  });

  const rnrRetries = 0;
  test('rnrRetries 0 ends with RNR_RETRY_EXCEEDED and flushes the rest', {}, async (a, b) => {
    const [near] = await connected(a, b, { connect: { rnrRetries } });
    const [from, to] = await Promise.all([a.region(64), b.region(64)]);
    await Promise.all([from.fill(1), to.fill(50)]);
    const write = { opcode: 'WRITE', sges: [from.sge()], remote: to.remote() } as const;
    await near.post({ id: 1, opcode: 'SEND' }, { id: 2, ...write }, { id: 3, opcode: 'SEND' });
    await near.ends([
      [1, 'RNR_RETRY_EXCEEDED'],
      [2, 'WORK_REQUEST_FLUSHED'],
      [3, 'WORK_REQUEST_FLUSHED'],
    ]);
    assert.equal(await near.state(), 'ERROR');
    await to.holds(50);
  });

  test('a few retries end with RNR_RETRY_EXCEEDED too', {}, async (a, b) => {
    const [near] = await connected(a, b, { connect: { rnrRetries: 3, rnrTimerMs: 1 } });
    await near.post({ id: 1, opcode: 'SEND' });
    await near.ends([[1, 'RNR_RETRY_EXCEEDED']]);
  });

  test(
    'seven retries have no end: another queue pair gives up later, and this one waits on',
    {},
    async (a, b) => {
      const [patient, far] = await connected(a, b, { connect: { rnrRetries: 7, rnrTimerMs: 1 } });
      const [other] = await connected(a, b, { connect: { rnrRetries: 6, rnrTimerMs: 4 } });
      await patient.post({ id: 1, opcode: 'SEND' });
      await other.post({ id: 2, opcode: 'SEND' });
      await other.ends([[2, 'RNR_RETRY_EXCEEDED']]);
      await patient.nothingMore();
      await far.receive({ id: 10 });
      await Promise.all([patient.done(1), far.done(10)]);
    },
  );

  test('rnrRetries 0 has no effect if receives are posted in time', {}, async (a, b) => {
    const count = 32;
    const [near, far] = await connected(a, b, { connect: { rnrRetries } });
    await far.receive(...range(count).map((id) => ({ id })));
    await near.post(...range(count).map((id) => ({ id, opcode: 'SEND' }) as const));
    const all = range(count).map((id) => [id, 'SUCCESS'] as const);
    await Promise.all([near.ends(all), far.ends(all)]);
  });
}
