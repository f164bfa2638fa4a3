import assert from 'node:assert/strict';
import { range } from '../rig/expect.js';
import { connected, joinEnds } from '../rig/peer.js';
import type { SuiteContext } from '../suite-context.js';

const ALL_ADDITIONS = 10_000;
const WINDOW = 50;
const ALL_LOCK_ROUNDS = 250;

export function atomics({ test, rounds }: SuiteContext): void {
  const additions = rounds(ALL_ADDITIONS);
  const lockRounds = rounds(ALL_LOCK_ROUNDS);
  const needs = ['atomics', 'connectToSelf'] as const;

  test(
    `${additions} additions of two initiators each: none lost, none seen twice`,
    { needs },
    async (a, b) => {
      const [[first], [second, loop]] = await Promise.all([connected(a, b), Promise.all([b.end(), b.end()])]);
      await joinEnds(second, loop);
      const [target, ours, theirs] = await Promise.all([
        b.region(64),
        a.region(8 * WINDOW),
        b.region(8 * WINDOW),
      ]);
      await target.setWord(0n);
      const remote = target.remote();
      const olds = await Promise.all([
        a.call('fetchAddLoop', {
          qp: first.qp,
          cq: first.cq,
          region: ours.handle,
          remote,
          count: additions,
          window: WINDOW,
        }),
        b.call('fetchAddLoop', {
          qp: second.qp,
          cq: second.cq,
          region: theirs.handle,
          remote,
          count: additions,
          window: WINDOW,
        }),
      ]);
      assert.equal(await target.word(), BigInt(2 * additions));
      for (const own of olds)
        assert.ok(
          own.every((old, i) => i === 0 || old > own[i - 1]!),
          'each initiator sees increasing values',
        );
      assert.deepEqual(
        olds.flat().sort((x, y) => x - y),
        range(2 * additions),
      );
    },
  );

  test('compare-and-swap as a lock excludes two initiators from each other', { needs }, async (a, b) => {
    const [[first], [second, loop]] = await Promise.all([connected(a, b), Promise.all([b.end(), b.end()])]);
    await joinEnds(second, loop);
    const [target, ours, theirs] = await Promise.all([b.region(16), a.region(16), b.region(16)]);
    await Promise.all([target.setWord(0n), target.setWord(0n, 8)]);
    const shared = { lock: target.remote(), rounds: lockRounds };
    await Promise.all([
      a.call('lockLoop', { qp: first.qp, cq: first.cq, region: ours.handle, owner: 1, ...shared }),
      b.call('lockLoop', { qp: second.qp, cq: second.cq, region: theirs.handle, owner: 2, ...shared }),
    ]);
    assert.equal(await target.word(8), BigInt(2 * lockRounds));
    assert.equal(await target.word(), 0n, 'the lock is free in the end');
  });

  test('atomics of one queue pair execute in posting order', { needs: ['atomics'] }, async (a, b) => {
    const count = 48;
    const [near] = await connected(a, b);
    const [olds, target] = await Promise.all([a.region(8 * count), b.region(8)]);
    await target.setWord(0n);
    await near.post(
      ...range(count).map((id) => {
        const operands = { compareOrAdd: BigInt(id), swap: BigInt(id + 1) };
        const sges = [olds.sge(8 * id, 8)];
        return { id, opcode: 'COMPARE_AND_SWAP', sges, remote: target.remote(), ...operands } as const;
      }),
    );
    await near.ends(range(count).map((id) => [id, 'SUCCESS'] as const));
    assert.equal(await target.word(), BigInt(count));
    for (const id of range(count)) assert.equal(await olds.word(8 * id), BigInt(id));
  });
}
