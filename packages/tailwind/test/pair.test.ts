import type { ProtocolContext } from '@rdmc/dataplane';
import { type LocalKey, PostResult, remoteKey, Status } from '@rdmc/verbs';
import { expect, it } from 'vitest';
import type { TailwindRecords } from '../src/records.js';
import { Channel, type Target } from '../src/worker/channel.js';
import { WritePair } from '../src/worker/write-pair.js';

/** The completion of a refused request (`refusedCompletion` of @rdmc/verbs). */
const REFUSED = Uint32Array.of(
  0,
  0,
  Status.LOCAL_QP_OPERATION_ERROR,
  0,
  PostResult.QUEUE_FULL,
  0,
  0,
  0x8000_0000,
);
const FLUSHED = Uint32Array.of(0, 0, Status.WORK_REQUEST_FLUSHED, 0, 0, 0, 0, 0);

/** Queue pairs without a device, whose completions the test produces. */
function rig() {
  const submission = { begin: () => {}, sge: () => {}, remote: () => {} };
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
  } as unknown as ProtocolContext<TailwindRecords>;
  const pairs = [new WritePair(context, 1), new WritePair(context, 2)] as const;
  const lost: [target: number, reason: string][] = [];
  const events = {
    acknowledged: () => {},
    caughtUp: () => {},
    lost: (_: number, target: number, reason: string) => lost.push([target, reason]),
  };
  const targets = [1, 2].map((pair) => ({
    target: pair,
    pair,
    member: pair,
    address: 0,
    rkey: remoteKey(0),
    key: 0,
  }));
  const channel = new Channel(
    { channel: 1, address: 0, lkey: 0 as LocalKey, targets, traced: { log: 1, segment: 1 } },
    (pair) => pairs[pair - 1],
    events,
  );
  const write = (pair: WritePair, target: Target): void =>
    pair.write(target, 1, { address: 0, lkey: 0 as LocalKey }, 0, 10);
  return { pairs, channel, lost, write };
}

it('a refused request breaks its own pair, and no other', async () => {
  const { pairs, channel, lost, write } = rig();
  const [first, second] = pairs;
  write(first, channel.targets[0]!);
  write(second, channel.targets[1]!);
  write(second, channel.targets[1]!);
  second.onCompletion(REFUSED, 0);
  expect(second.broken).toContain('the device refused a request: the queue is full');
  expect(first.broken).toBeUndefined();
  expect(lost).toEqual([[2, second.broken]]);
});

it('a pair is dropped when all of its requests have completed, refused ones too', async () => {
  const { pairs, channel, write } = rig();
  const [, pair] = pairs;
  write(pair, channel.targets[1]!);
  write(pair, channel.targets[1]!);
  let isGone = false;
  const dropped = pair.drop().then(() => {
    isGone = true;
  });
  pair.onCompletion(REFUSED, 0);
  await Promise.resolve();
  expect(isGone).toBe(false);
  pair.onCompletion(FLUSHED, 0);
  await dropped;
});
