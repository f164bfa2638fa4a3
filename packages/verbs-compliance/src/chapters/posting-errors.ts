import assert from 'node:assert/strict';
import type { LocalKey, SendWorkRequest } from '@rdmc/verbs';
import { failsWith, range, refusedAt } from '../rig/expect.js';
import { connected } from '../rig/peer.js';
import type { PeerRegion } from '../rig/region.js';
import type { SuiteContext, TestOptions } from '../suite-context.js';

const SIZE = 256;

type Bad = (mine: PeerRegion, target: PeerRegion) => Omit<SendWorkRequest, 'id'>;

export function postingErrors({ test }: SuiteContext): void {
  const refusedInBatch = (title: string, code: string, options: TestOptions, bad: Bad): void => {
    test(`${title}: ${code}; the requests before it execute`, options, async (a, b) => {
      const [near, far] = await connected(a, b);
      const [mine, target] = await Promise.all([a.region(SIZE), b.region(SIZE)]);
      await Promise.all([mine.fill(1), target.fill(50)]);
      const good = (offset: number) => {
        return { opcode: 'WRITE', sges: [mine.sge(offset, 16)], remote: target.remote(offset) } as const;
      };
      const batch = [
        { id: 1, ...good(0) },
        { id: 2, ...bad(mine, target) },
        { id: 3, ...good(64) },
      ];
      await refusedAt(1, near.post(...batch), code);
      await near.done(1);
      assert.equal(await near.state(), 'RTS', 'a refused request does not change the state');
      await far.receive({ id: 9 });
      await near.run({ opcode: 'SEND' }, 4);
      await far.done(9);
      await target.holdsOnly(1, 0, 16, 50);
      await near.nothingMore();
    });
  };
  const checked = { needs: ['checksAtPosting'] } as const;
  const write = { opcode: 'WRITE' } as const;

  refusedInBatch('an lkey that does not exist', 'ERR_RDMC_INVALID_LKEY', checked, (mine, target) => {
    const sges = [{ ...mine.sge(0, 8), lkey: ((mine.lkey ^ 0x1357_9bd0) >>> 0) as LocalKey }];
    return { ...write, sges, remote: target.remote() };
  });
  refusedInBatch('an entry one byte beyond its region', 'ERR_RDMC_OUT_OF_BOUNDS', checked, (mine, target) => {
    const sges = [{ address: mine.address + SIZE - 7, byteLength: 8, lkey: mine.lkey }];
    return { ...write, sges, remote: target.remote() };
  });
  refusedInBatch('an entry one byte before its region', 'ERR_RDMC_OUT_OF_BOUNDS', checked, (mine, target) => {
    const sges = [{ address: mine.address - 1, byteLength: 8, lkey: mine.lkey }];
    return { ...write, sges, remote: target.remote() };
  });
  refusedInBatch('a good entry before a bad one', 'ERR_RDMC_OUT_OF_BOUNDS', checked, (mine, target) => {
    const sges = [mine.sge(0, 8), { address: mine.address + SIZE, byteLength: 1, lkey: mine.lkey }];
    return { ...write, sges, remote: target.remote() };
  });
  refusedInBatch('one entry too many', 'ERR_RDMC_TOO_MANY_SGES', {}, (mine, target) => {
    const sges = range(mine.peer.attributes.maxSge + 1).map((i) => mine.sge(8 * i, 8));
    return { ...write, sges, remote: target.remote(128) };
  });
  refusedInBatch('too much inline', 'ERR_RDMC_INLINE_TOO_LONG', {}, (mine, target) => {
    const inline = new Uint8Array(mine.peer.attributes.maxInlineBytes + 1);
    return { ...write, inline, remote: target.remote(128) };
  });
  refusedInBatch('an operation that does not exist', 'ERR_RDMC_UNKNOWN_OPCODE', {}, (_mine, target) => {
    return { opcode: 'MULTIPLY' as 'SEND', remote: target.remote(128) };
  });
  refusedInBatch('RECEIVE as a send', 'ERR_RDMC_UNKNOWN_OPCODE', {}, () => {
    return { opcode: 'RECEIVE' as 'SEND' };
  });
  for (const name of ['constructor', '__proto__'] as const) {
    refusedInBatch(`the inherited name ${name} as a send`, 'ERR_RDMC_UNKNOWN_OPCODE', {}, () => {
      return { opcode: name as string as 'SEND' };
    });
  }
  for (const opcode of ['WRITE', 'WRITE_WITH_IMM', 'READ', 'COMPARE_AND_SWAP', 'FETCH_AND_ADD'] as const) {
    refusedInBatch(`${opcode} without a target`, 'ERR_RDMC_INVALID_OPTION', {}, (mine) => {
      return { opcode, sges: [mine.sge(32, 8)] };
    });
  }
  const misaligned = { needs: ['atomics', 'checksAtPosting'] } as const;
  refusedInBatch('an atomic on 4 bytes', 'ERR_RDMC_MISALIGNED_ATOMIC', misaligned, (mine, target) => {
    return { opcode: 'FETCH_AND_ADD', sges: [mine.sge(0, 4)], remote: target.remote(128) };
  });

  test('a WRITE without a target does not go where an earlier one went', {}, async (a, b) => {
    const [near] = await connected(a, b);
    const [mine, target] = await Promise.all([a.region(SIZE), b.region(SIZE)]);
    await Promise.all([mine.fill(1), target.fill(50)]);
    const sges = [mine.sge(0, 16)];
    await near.run({ ...write, sges, remote: target.remote(64) });
    await target.fill(51);
    await refusedAt(0, near.post({ id: 2, ...write, sges }), 'ERR_RDMC_INVALID_OPTION');
    await near.nothingMore();
    await target.holds(51);
  });

  test('memory of another protection domain: ERR_RDMC_INVALID_LKEY', checked, async (a, b) => {
    const [near] = await connected(a, b);
    const pd = await a.newPd();
    const [foreign, target] = await Promise.all([a.region(SIZE, undefined, pd), b.region(SIZE)]);
    const request = { id: 1, ...write, sges: [foreign.sge()], remote: target.remote() };
    await refusedAt(0, near.post(request), 'ERR_RDMC_INVALID_LKEY');
    await refusedAt(0, near.receive({ id: 1, sges: [foreign.sge()] }), 'ERR_RDMC_INVALID_LKEY');
  });

  test('memory of a closed region: ERR_RDMC_INVALID_LKEY', checked, async (a, b) => {
    const [near] = await connected(a, b);
    const [gone, target] = await Promise.all([a.region(SIZE), b.region(SIZE)]);
    const request = { id: 1, ...write, sges: [gone.sge()], remote: target.remote() };
    await gone.closeNow();
    await refusedAt(0, near.post(request), 'ERR_RDMC_INVALID_LKEY');
    await refusedAt(0, near.receive({ id: 1, sges: request.sges }), 'ERR_RDMC_INVALID_LKEY');
  });

  test('a full send queue: ERR_RDMC_QUEUE_FULL, then room again', {}, async (a, b) => {
    const sendDepth = 8;
    const [near, far] = await connected(a, b, { sendDepth });
    const sends = (count: number) => range(count).map((id) => ({ id, opcode: 'SEND' }) as const);
    await refusedAt(sendDepth, near.post(...sends(sendDepth + 1)), 'ERR_RDMC_QUEUE_FULL');
    await refusedAt(0, near.post(...sends(1)), 'ERR_RDMC_QUEUE_FULL');
    await far.receive(...range(sendDepth).map((id) => ({ id })));
    await near.ends(range(sendDepth).map((id) => [id, 'SUCCESS'] as const));
    await far.receive({ id: 99 });
    await near.run({ opcode: 'SEND' }, 99);
    await far.ends([...range(sendDepth), 99].map((id) => [id, 'SUCCESS'] as const));
  });

  test(
    'the index of a refusal counts from the first request of the call, for any number',
    {},
    async (a, b) => {
      const depth = 600;
      const [near, far] = await connected(a, b, {
        sendDepth: depth,
        receiveDepth: depth,
        cqDepth: 4 * depth,
      });
      const receives = range(depth + 1).map((id) => ({ id }));
      await refusedAt(depth, far.receive(...receives), 'ERR_RDMC_QUEUE_FULL');
      const inline = new Uint8Array(a.attributes.maxInlineBytes + 1);
      const sends = range(depth - 50).map((id) => ({ id, opcode: 'SEND' }) as const);
      const posting = near.post(...sends, { id: depth, opcode: 'SEND', inline }, { id: 1, opcode: 'SEND' });
      await refusedAt(depth - 50, posting, 'ERR_RDMC_INLINE_TOO_LONG');
      await near.ends(sends.map(({ id }) => [id, 'SUCCESS'] as const));
      await far.ends(sends.map(({ id }) => [id, 'SUCCESS'] as const));
    },
  );

  test('a full receive queue: ERR_RDMC_QUEUE_FULL, then room again', {}, async (a, b) => {
    const receiveDepth = 8;
    const [near, far] = await connected(a, b, { receiveDepth });
    const receives = (count: number) => range(count).map((id) => ({ id }));
    await refusedAt(receiveDepth, far.receive(...receives(receiveDepth + 1)), 'ERR_RDMC_QUEUE_FULL');
    await near.run({ opcode: 'SEND' });
    await far.done(0);
    await far.receive({ id: 50 });
    await refusedAt(0, far.receive({ id: 51 }), 'ERR_RDMC_QUEUE_FULL');
  });

  test('a queue pair that is not connected accepts receives but not sends', {}, async (a, b) => {
    const [near, far] = await Promise.all([a.end(), b.end()]);
    assert.equal(await near.state(), 'INIT');
    await far.receive({ id: 5 });
    await refusedAt(0, near.post({ id: 1, opcode: 'SEND' }), 'ERR_RDMC_QUEUE_PAIR_STATE');
    await Promise.all([near.connect(far.address), far.connect(near.address)]);
    assert.equal(await near.state(), 'RTS');
    await near.run({ opcode: 'SEND' });
    await far.done(5);
  });

  test('a closed queue pair: ERR_RDMC_QUEUE_PAIR_CLOSED', {}, async (a, b) => {
    const [near] = await connected(a, b);
    await near.close();
    await refusedAt(0, near.post({ id: 1, opcode: 'SEND' }), 'ERR_RDMC_QUEUE_PAIR_CLOSED');
    await refusedAt(0, near.receive({ id: 1 }), 'ERR_RDMC_QUEUE_PAIR_CLOSED');
    await failsWith(near.connect(near.address), 'ERR_RDMC_QUEUE_PAIR_CLOSED');
  });

  test('a queue pair in ERROR flushes what is posted', {}, async (a, b) => {
    const [near] = await connected(a, b);
    const target = await b.region(64);
    await target.fill(50);
    await near.modifyToError();
    await near.post({ id: 1, ...write, inline: new Uint8Array(8), remote: target.remote(), signaled: false });
    await near.receive({ id: 2 });
    await near.ends([
      [1, 'WORK_REQUEST_FLUSHED'],
      [2, 'WORK_REQUEST_FLUSHED'],
    ]);
    await target.holds(50);
  });

  test('registered memory is a source, and the sink of a READ', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [mine, theirs] = await Promise.all([a.registered(5_000), b.region(5_000)]);
    await Promise.all([mine.fill(1), theirs.fill(50)]);
    await near.run({ opcode: 'WRITE', sges: [mine.sge(3, 100)], remote: theirs.remote(11) });
    await theirs.holds(1, 11, 100, 3);
    await far.receive({ id: 2, sges: [theirs.sge()] });
    await near.run({ opcode: 'SEND', sges: [mine.sge(0, 4_000)] });
    await far.done(2);
    await theirs.holds(1, 0, 4_000);
    await theirs.fill(2);
    await near.run({ opcode: 'READ', sges: [mine.sge(1_000, 3_000)], remote: theirs.remote(7) });
    await mine.holds(2, 1_000, 3_000, 7);
    await mine.holds(1, 0, 1_000);
  });

  test('a receive into registered memory works if peers can access it, else is refused', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [from, into] = await Promise.all([a.region(100), b.registered(4_096)]);
    const posting = far.receive({ id: 1, sges: [into.sge(50, 100)] });
    if (!b.attributes.registeredMemoryIsRemote) return refusedAt(0, posting, 'ERR_RDMC_NOT_SHAREABLE');
    await posting;
    await Promise.all([from.fill(1), into.fill(50)]);
    await near.run({ opcode: 'SEND', sges: [from.sge()] });
    await far.done(1);
    return into.holdsOnly(1, 50, 100, 50);
  });
}
