import { Deferred } from '@rdmc/common';
import { expect, it } from 'vitest';
import { Rebalancer } from '../src/handover/rebalancer.js';
import { SLOTS } from '../src/limits.js';

const holders = [1, 2].map((member) => ({ member, logId: String(member) }));

it('nothing is tried again after a server was full, until an operator asks', async () => {
  const owners = Array<string>(SLOTS).fill('2').fill('1', 0, 100);
  const ended = new AbortController();
  let isFull = true;
  const failures: string[] = [];
  let failed = new Deferred<void>();
  const balanced = new Deferred<void>();
  const kept: boolean[] = [];
  const rebalancer = new Rebalancer({
    run: async ({ slots }) => {
      if (isFull) throw Object.assign(new Error('no room'), { code: 'ERR_RDMC_KV_SERVER_FULL' });
      for (const slot of slots) owners[slot] = '2';
    },
    layout: async () => ({ owners, holders, drained: new Set([1]) }),
    keep: async (isMoving) => {
      kept.push(isMoving);
    },
    ended: ended.signal,
    onFailed: (_, { code }) => {
      failures.push(code);
      failed.resolve();
    },
    onBalanced: () => balanced.resolve(),
  });
  for (let attempt = 1; attempt <= 2; attempt += 1) {
    failed = new Deferred();
    rebalancer.start();
    await failed.promise;
    await expect.poll(() => rebalancer.facts.isRunning).toBe(false);
    expect(failures).toEqual(Array(attempt).fill('ERR_RDMC_KV_SERVER_FULL'));
    expect(rebalancer.facts).toMatchObject({ moved: 0, failure: { reason: 'no room' } });
    // Another coordinator does not go on either.
    expect(kept.at(-1)).toBe(false);
  }
  isFull = false;
  rebalancer.start();
  await balanced.promise;
  expect(kept.slice(-3)).toEqual([true, true, false]);
  expect(new Set(owners)).toEqual(new Set(['2']));
  expect(rebalancer.facts).toMatchObject({ moved: 100, failure: undefined });
  ended.abort();
});

it('the others get the slots that a full server cannot take, and it is asked again when an operator asks', async () => {
  const three = [1, 2, 3].map((member) => ({ member, logId: String(member) }));
  const owners = Array<string>(SLOTS).fill('2').fill('1', 0, 100);
  const ended = new AbortController();
  const targets: number[] = [];
  const failures: string[] = [];
  let isFull = true;
  const rebalancer = new Rebalancer({
    run: async ({ slots, target }) => {
      targets.push(target.member);
      if (isFull && target.member === 3)
        throw Object.assign(new Error('no room'), { code: 'ERR_RDMC_KV_SERVER_FULL' });
      for (const slot of slots) owners[slot] = target.logId;
    },
    layout: async () => ({ owners, holders: three, drained: new Set([1]) }),
    keep: async () => {},
    ended: ended.signal,
    onFailed: (_, { code }) => failures.push(code),
  });
  rebalancer.start();
  await expect.poll(() => rebalancer.facts.isRunning).toBe(false);
  expect(owners).not.toContain('1');
  expect(targets).toEqual([3, 2, 2]);
  // Server 3 has none.
  expect(rebalancer.facts).toMatchObject({ moved: 100, failure: { code: 'ERR_RDMC_KV_SERVER_FULL' } });
  expect(failures).toEqual(['ERR_RDMC_KV_SERVER_FULL']);
  isFull = false;
  rebalancer.start();
  await expect.poll(() => targets.length).toBeGreaterThan(3);
  expect(targets[3]).toBe(3);
  ended.abort();
});

it('what it has begun is kept where its coordinator ends meanwhile', async () => {
  const owners = Array<string>(SLOTS).fill('1');
  const ended = new AbortController();
  const kept: boolean[] = [];
  const rebalancer = new Rebalancer({
    run: async () => {
      ended.abort();
      throw new Error('the coordinator ends');
    },
    layout: async () => ({ owners, holders, drained: new Set() }),
    keep: async (isMoving) => {
      kept.push(isMoving);
    },
    ended: ended.signal,
  });
  rebalancer.start();
  await expect.poll(() => rebalancer.facts.isRunning).toBe(false);
  expect(kept).toEqual([true]);
});
