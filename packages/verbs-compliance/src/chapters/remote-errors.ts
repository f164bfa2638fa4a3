import assert from 'node:assert/strict';
import type { SendWorkRequest, StatusName } from '@rdmc/verbs';
import { remoteKey } from '@rdmc/verbs';
import { failsWith } from '../rig/expect.js';
import { connected, type Peer } from '../rig/peer.js';
import type { PeerRegion } from '../rig/region.js';
import type { SuiteContext, TestOptions } from '../suite-context.js';

const SIZE = 256;
const WRITE_ONLY = { remoteWrite: true };
const READ_ONLY = { remoteRead: true };
const ATOMIC_ONLY = { remoteAtomic: true };

/** Statuses of a message that is longer than its receive, at its sender and at its receiver. */
const PRECISE: readonly StatusName[] = ['REMOTE_INVALID_REQUEST', 'LOCAL_LENGTH_ERROR'];
const VAGUE: readonly StatusName[] = ['REMOTE_OPERATION_ERROR', 'LOCAL_QP_OPERATION_ERROR'];

type Request = Omit<SendWorkRequest, 'id' | 'sges'>;

/**
 * Posts a bad request and two good ones; asserts that the bad one ends with this status, everything behind it and all
 * receives are flushed in order, both queue pairs end in ERROR and the target's memory is unchanged.
 */
async function breaksConnection(
  a: Peer,
  b: Peer,
  bad: (target: PeerRegion) => Request | Promise<Request>,
  expected: readonly StatusName[],
  byteLength = 8,
): Promise<void> {
  const [near, far] = await connected(a, b);
  const [mine, target] = await Promise.all([a.region(2 * SIZE), b.region(SIZE)]);
  await Promise.all([mine.fill(1), target.fill(50)]);
  await Promise.all([near.receive({ id: 20 }, { id: 21 }), far.receive({ id: 30 }, { id: 31 })]);
  const request = await bad(target);
  const good = { opcode: 'WRITE', sges: [mine.sge(0, 8)], remote: target.remote() } as const;
  await near.post(
    { id: 1, ...request, sges: [mine.sge(0, byteLength)] },
    { id: 2, ...good },
    { id: 3, ...good, signaled: false },
  );
  const completions = await near.poll(5);
  const sends = completions.filter(({ id }) => id < 20).map(({ id, status }) => [id, status] as const);
  assert.ok(expected.includes(sends[0]![1]), `ended with ${sends[0]![1]}, wanted ${expected.join(' or ')}`);
  assert.deepEqual(sends.slice(1), [
    [2, 'WORK_REQUEST_FLUSHED'],
    [3, 'WORK_REQUEST_FLUSHED'],
  ]);
  const receives = completions.filter(({ id }) => id >= 20).map(({ id, status }) => [id, status]);
  assert.deepEqual(receives, [
    [20, 'WORK_REQUEST_FLUSHED'],
    [21, 'WORK_REQUEST_FLUSHED'],
  ]);
  await far.ends([
    [30, 'WORK_REQUEST_FLUSHED'],
    [31, 'WORK_REQUEST_FLUSHED'],
  ]);
  await Promise.all([near.reaches('ERROR'), far.reaches('ERROR')]);
  await target.holds(50);
}

const WRITE = 'WRITE' as const;
const READ = 'READ' as const;
const ADD = { opcode: 'FETCH_AND_ADD', compareOrAdd: 1n } as const;

export function remoteErrors({ test, spec }: SuiteContext): void {
  const access: readonly StatusName[] = ['REMOTE_ACCESS_ERROR'];
  const refused = (
    title: string,
    options: TestOptions,
    bad: Parameters<typeof breaksConnection>[2],
  ): void => {
    test(`${title}: REMOTE_ACCESS_ERROR`, options, (a, b) => breaksConnection(a, b, bad, access));
  };
  const bothWays = { bothWays: true };
  const atomics = { needs: ['atomics'] } as const;

  for (const opcode of [WRITE, READ]) {
    refused(`${opcode} with a key that does not exist`, bothWays, (target) => {
      const { address, rkey } = target.remote();
      return { opcode, remote: { address, rkey: remoteKey((rkey ^ 0x2152_4110) >>> 0) } };
    });
    refused(`${opcode} to a region that was closed`, {}, async (target) => {
      const old = await target.peer.region(SIZE);
      const remote = old.remote();
      await old.closeNow();
      // The next region in its slot must not accept the old key.
      await target.peer.region(SIZE);
      return { opcode, remote };
    });
    refused(`${opcode} to a region that was revoked`, {}, async (target) => {
      const revoked = await target.peer.region(SIZE);
      await revoked.revoke();
      return { opcode, remote: revoked.remote() };
    });
    refused(`${opcode} one byte beyond the end`, bothWays, (target) => {
      return { opcode, remote: target.remote(SIZE - 7) };
    });
    refused(`${opcode} one byte before the start`, {}, (target) => {
      const { address, rkey } = target.remote();
      return { opcode, remote: { address: address - 1, rkey } };
    });
    refused(`${opcode} to the address of one region with the key of another`, {}, async (target) => {
      const other = await target.peer.region(SIZE);
      return { opcode, remote: { address: other.remote().address, rkey: target.remote().rkey } };
    });
    refused(`${opcode} to a region of another protection domain`, {}, async (target) => {
      const pd = await target.peer.newPd();
      const foreign = await target.peer.region(SIZE, undefined, pd);
      return { opcode, remote: foreign.remote() };
    });
  }
  refused('WRITE without the right to', bothWays, async (target) => {
    const region = await target.peer.region(SIZE, { ...READ_ONLY, ...ATOMIC_ONLY });
    return { opcode: WRITE, remote: region.remote() };
  });
  refused('READ without the right to', bothWays, async (target) => {
    const region = await target.peer.region(SIZE, { ...WRITE_ONLY, ...ATOMIC_ONLY });
    return { opcode: READ, remote: region.remote() };
  });
  refused('FETCH_AND_ADD without the right to', { ...atomics, bothWays: true }, async (target) => {
    const region = await target.peer.region(SIZE, { ...WRITE_ONLY, ...READ_ONLY });
    return { ...ADD, remote: region.remote() };
  });
  refused('FETCH_AND_ADD beyond the end', atomics, (target) => ({ ...ADD, remote: target.remote(SIZE) }));

  test('each right alone is sufficient for its operation', { needs: ['atomics'] }, async (a, b) => {
    const [near] = await connected(a, b);
    const mine = await a.region(8);
    const run = async (request: Request, rights: object): Promise<void> => {
      const target = await b.region(8, rights);
      await near.run({ ...request, sges: [mine.sge()], remote: target.remote() });
    };
    await run({ opcode: WRITE }, WRITE_ONLY);
    await run({ opcode: READ }, READ_ONLY);
    await run(ADD, ATOMIC_ONLY);
  });

  test('a WRITE that fails at its last byte has not changed any byte before it', {}, (a, b) => {
    const bad = (target: PeerRegion): Request => ({ opcode: WRITE, remote: target.remote(1) });
    return breaksConnection(a, b, bad, access, SIZE);
  });

  test('an atomic on a misaligned word is refused', { needs: ['atomics'] }, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [mine, target] = await Promise.all([a.region(64), b.region(64)]);
    await target.fill(50);
    try {
      await near.post({ id: 1, ...ADD, sges: [mine.sge(0, 8)], remote: target.remote(4) });
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'ERR_RDMC_MISALIGNED_ATOMIC');
      return target.holds(50);
    }
    const [done] = await near.poll(1);
    const allowed = ['REMOTE_INVALID_REQUEST', 'REMOTE_ACCESS_ERROR'];
    assert.ok(allowed.includes(done!.status), done!.status);
    await Promise.all([near.reaches('ERROR'), far.reaches('ERROR')]);
    return target.holds(50);
  });

  test('a receive too short for its message breaks both sides', { bothWays: true }, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [from, to] = await Promise.all([a.region(SIZE), b.region(SIZE)]);
    await to.fill(50);
    await far.receive({ id: 10, sges: [to.sge(0, 40), to.sge(100, 40)] }, { id: 11, sges: [to.sge()] });
    await near.post({ id: 1, opcode: 'SEND', sges: [from.sge(0, 81)] }, { id: 2, opcode: 'SEND' });
    const ends = await Promise.all([near.poll(2), far.poll(2)]);
    const vague = spec.features.namesShortReceives ? [] : VAGUE;
    for (const [side, [failed, flushed]] of ends.entries()) {
      const { id, status } = failed!;
      assert.equal(id, side === 0 ? 1 : 10);
      assert.ok([PRECISE[side]!, ...vague].includes(status), status);
      assert.deepEqual([flushed!.id, flushed!.status], [side === 0 ? 2 : 11, 'WORK_REQUEST_FLUSHED']);
    }
    await Promise.all([near.reaches('ERROR'), far.reaches('ERROR')]);
    await to.holds(50, 40, 60, 40);
    await to.holds(50, 140, SIZE - 140, 140);
  });

  test('a failed queue pair does not affect the others of both devices', {}, async (a, b) => {
    const [broken] = await connected(a, b);
    const [healthy, peer] = await connected(a, b);
    const [mine, target] = await Promise.all([a.region(64), b.region(64)]);
    await mine.fill(1);
    const remote = { address: target.remote().address, rkey: remoteKey(0x7fff_fff1) };
    await broken.post({ id: 1, opcode: WRITE, sges: [mine.sge()], remote });
    await broken.ends([[1, 'REMOTE_ACCESS_ERROR']]);
    await peer.receive({ id: 9 });
    await healthy.run({ opcode: WRITE, sges: [mine.sge()], remote: target.remote() });
    await healthy.run({ opcode: 'SEND' }, 2);
    await peer.done(9);
    await target.holds(1);
  });

  test('memory of register() has a remote key only if peers can access it', {}, async (a, b) => {
    const region = await b.registered(4_096);
    if (!b.attributes.registeredMemoryIsRemote) {
      await failsWith(b.call('rkey', { region: region.handle }), 'ERR_RDMC_NOT_SHAREABLE');
      return;
    }
    const [near] = await connected(a, b);
    const mine = await a.region(4_096);
    await Promise.all([mine.fill(1), region.fill(50)]);
    await near.run({ opcode: WRITE, sges: [mine.sge(0, 100)], remote: region.remote(7) });
    await region.holdsOnly(1, 7, 100, 50);
  });
}
