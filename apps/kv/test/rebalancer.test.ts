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
  const rebalancer = new Rebalancer({
    run: async ({ slots }) => {
      if (isFull) throw Object.assign(new Error('no room'), { code: 'ERR_RDMC_KV_SERVER_FULL' });
      for (const slot of slots) owners[slot] = '2';
    },
    layout: async () => ({ owners, holders, drained: new Set([1]) }),
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
  }
  isFull = false;
  rebalancer.start();
  await balanced.promise;
  expect(new Set(owners)).toEqual(new Set(['2']));
  expect(rebalancer.facts).toMatchObject({ moved: 100, failure: undefined });
  ended.abort();
});
