import assert from 'node:assert/strict';
import { connected } from '../rig/peer.js';
import type { SuiteContext } from '../suite-context.js';

const SIZE = 1_000;
const AROUND = 9;

export function opcodes({ test }: SuiteContext): void {
  for (const opcode of ['SEND', 'SEND_WITH_IMM'] as const) {
    test(`${opcode} puts the bytes into the posted receive`, { bothWays: true }, async (a, b) => {
      const [near, far] = await connected(a, b);
      const [from, to] = await Promise.all([a.region(2 * SIZE), b.region(2 * SIZE)]);
      await Promise.all([from.fill(1), to.fill(AROUND)]);
      await far.receive({ id: 70, sges: [to.sge(100, SIZE + 50)] });
      const immediate = opcode === 'SEND' ? {} : { immediate: 77 };
      await near.post({ id: 7, opcode, sges: [from.sge(0, SIZE)], ...immediate });
      const [sent, received] = await Promise.all([near.done(7), far.done(70)]);
      assert.equal(sent.opcode, 'SEND');
      assert.equal(received.opcode, 'RECEIVE');
      assert.equal(received.byteLength, SIZE);
      assert.equal(received.immediate, opcode === 'SEND' ? undefined : 77);
      await to.holdsOnly(1, 100, SIZE, AROUND);
      await Promise.all([near.nothingMore(), far.nothingMore()]);
    });
  }

  test('WRITE places the bytes without a receive', { bothWays: true }, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [from, to] = await Promise.all([a.region(2 * SIZE), b.region(2 * SIZE)]);
    await Promise.all([from.fill(1), to.fill(AROUND)]);
    await far.receive({ id: 70 });
    const sent = await near.run({ opcode: 'WRITE', sges: [from.sge(0, SIZE)], remote: to.remote(300) });
    assert.equal(sent.opcode, 'WRITE');
    await to.holdsOnly(1, 300, SIZE, AROUND);
    await far.nothingMore();
  });

  test('WRITE_WITH_IMM places the bytes and completes a receive', { bothWays: true }, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [from, to] = await Promise.all([a.region(2 * SIZE), b.region(2 * SIZE)]);
    await Promise.all([from.fill(1), to.fill(AROUND)]);
    await far.receive({ id: 70 }, { id: 71 });
    const remote = to.remote(300);
    await near.post(
      { id: 1, opcode: 'WRITE_WITH_IMM', sges: [from.sge(0, SIZE)], remote, immediate: 5 },
      { id: 2, opcode: 'WRITE_WITH_IMM', remote, immediate: 6 },
    );
    const received = await far.poll(2);
    for (const [i, completion] of received.entries()) {
      assert.equal(completion.status, 'SUCCESS');
      assert.equal(completion.opcode, 'RECEIVE_WRITE_WITH_IMM');
      assert.deepEqual([completion.id, completion.immediate], [70 + i, 5 + i]);
      assert.equal(completion.byteLength, i === 0 ? SIZE : 0);
    }
    assert.equal((await near.done(1)).opcode, 'WRITE');
    await near.done(2);
    await to.holdsOnly(1, 300, SIZE, AROUND);
  });

  test('READ fetches the bytes', { bothWays: true }, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [into, source] = await Promise.all([a.region(2 * SIZE), b.region(2 * SIZE)]);
    await Promise.all([into.fill(AROUND), source.fill(1, 200)]);
    await far.receive({ id: 70 });
    const done = await near.run({ opcode: 'READ', sges: [into.sge(400, SIZE)], remote: source.remote(200) });
    assert.equal(done.opcode, 'READ');
    assert.equal(done.byteLength, SIZE);
    await into.holdsOnly(1, 400, SIZE, AROUND);
    await source.holds(1, 200);
    await far.nothingMore();
  });

  const atomics = { needs: ['atomics'], bothWays: true } as const;
  test('COMPARE_AND_SWAP swaps if equal, and returns the old value', atomics, async (a, b) => {
    const [near] = await connected(a, b);
    const [old, word] = await Promise.all([a.region(64), b.region(64)]);
    const before = 0xfedc_ba98_7654_3210n;
    const after = 0x0123_4567_89ab_cdefn;
    await Promise.all([word.setWord(before, 8), word.setWord(1n, 16), word.setWord(2n)]);
    const request = {
      opcode: 'COMPARE_AND_SWAP',
      sges: [old.sge(0, 8)],
      remote: word.remote(8),
      compareOrAdd: before,
    } as const;
    const done = await near.run({ ...request, swap: after });
    assert.deepEqual([done.opcode, done.byteLength], ['COMPARE_AND_SWAP', 8]);
    assert.equal(await old.word(), before);
    assert.equal(await word.word(8), after);
    await near.run({ ...request, swap: 5n });
    assert.equal(await old.word(), after, 'a compare that fails still returns the old value');
    assert.equal(await word.word(8), after, 'a compare that fails changes nothing');
    assert.deepEqual([await word.word(), await word.word(16)], [2n, 1n], 'neighbours');
  });

  test('FETCH_AND_ADD adds modulo 2^64, and returns the old value', atomics, async (a, b) => {
    const [near] = await connected(a, b);
    const [old, word] = await Promise.all([a.region(64), b.region(64)]);
    await word.setWord(0xffff_ffffn, 24);
    const add = async (value: bigint): Promise<bigint> => {
      const sges = [old.sge(8, 8)];
      const request = { opcode: 'FETCH_AND_ADD', sges, remote: word.remote(24) } as const;
      const done = await near.run({ ...request, compareOrAdd: value });
      assert.deepEqual([done.opcode, done.byteLength], ['FETCH_AND_ADD', 8]);
      return old.word(8);
    };
    assert.equal(await add(1n), 0xffff_ffffn);
    assert.equal(await add(0xffff_ffff_0000_0000n), 0x1_0000_0000n, 'the carry into the high half');
    assert.equal(await add(7n), 0n, 'the sum wraps at 2^64');
    assert.equal(await word.word(24), 7n);
  });
}
