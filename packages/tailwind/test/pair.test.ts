import type { ProtocolContext } from '@rdmc/dataplane';
import { PostError } from '@rdmc/verbs';
import { expect, it } from 'vitest';
import { Channel, type Target } from '../src/worker/channel.js';
import { WritePair } from '../src/worker/write-pair.js';

/** Queue pairs of nothing, and a submission queue whose next batch is refused at a position. */
function rig() {
  let pending = 0;
  let refuseAt: number | undefined;
  const submission = {
    get pending() {
      return pending;
    },
    begin: () => {
      pending += 1;
    },
    sge: () => {},
    remote: () => {},
    flush: () => {
      pending = 0;
      const at = refuseAt;
      refuseAt = undefined;
      if (at !== undefined) throw new PostError('ERR_RDMC_QUEUE_FULL', 'the queue is full', at);
    },
  };
  let last = 0;
  const createQueuePair = () => {
    last += 1;
    return { number: last, modifyToError: () => {}, close: async () => {} };
  };
  const context = {
    submission,
    protectionDomain: { createQueuePair },
    attach: () => {},
    detach: () => {},
    wake: () => {},
  } as unknown as ProtocolContext;
  const pairs = [new WritePair(context, 1), new WritePair(context, 2)] as const;
  const lost: number[] = [];
  const events = {
    acknowledged: () => {},
    caughtUp: () => {},
    lost: (_: number, target: number) => lost.push(target),
  };
  const targets = [1, 2].map((pair) => ({ target: pair, pair, address: 0, rkey: 0, key: 0 }));
  const channel = new Channel(
    { channel: 1, address: 0, lkey: 0, targets },
    (pair) => pairs[pair - 1],
    events,
  );
  const write = (pair: WritePair, target: Target): void => pair.write(target, 1, 0, 0, 0, 10);
  const refuse = (position: number): void => {
    refuseAt = position;
  };
  return { pairs, channel, lost, write, refuse };
}

it('a refused request breaks the pair that it was of, whoever posted the batch', async () => {
  const { pairs, channel, lost, write, refuse } = rig();
  const [first, second] = pairs;
  write(first, channel.targets[0]!);
  write(second, channel.targets[1]!);
  write(second, channel.targets[1]!);
  refuse(1);
  first.break('its peer is gone');
  expect(first.broken).toBe('its peer is gone');
  expect(second.broken).toContain('refused');
  expect(lost.sort()).toEqual([1, 2]);
  // Nothing of the second one is under way: it need not wait for completions.
  await second.drop();
});
