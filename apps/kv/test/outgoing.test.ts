/** The source's side of a hand-over whose answer is late, against servers that the test is. */
import { Deferred } from '@rdmc/common';
import { rejection, until } from '@rdmc/testing';
import { expect, it, vi } from 'vitest';
import { Topic } from '../src/cluster/messages.js';
import { SlotTable } from '../src/cluster/slot-table.js';
import { Incoming } from '../src/handover/incoming.js';
import { Outgoing } from '../src/handover/outgoing.js';
import { StopLimit } from '../src/handover/stop-limit.js';
import { HANDOVER_STOP_MAX_MS } from '../src/limits.js';
import { CommandRunner } from './support/command-runner.js';
import { RecordedLog, slotOfKey } from './support/recorded-log.js';

const [slot, other] = [slotOfKey('a'), slotOfKey('b')];
const [first, last] = [Math.min(slot, other), Math.max(slot, other)];
const RANGES: [number, number][] = [
  [first, first],
  [last, last],
];
const NUMBER = 10;
const NEVER_MS = 2 ** 31 - 1;

interface Course {
  /** The answer to what it asks again. */
  readonly again?: Deferred<unknown>;
  /** When the target has the rest durably (default: at once). */
  readonly brought?: Promise<null>;
  readonly stopLimit?: StopLimit;
}

/** Server 1 hands the slots of `a` and `b` over to server 2, which is the test. */
function start({ again, brought, stopLimit = new StopLimit(NEVER_MS) }: Course = {}) {
  const { store, ...runner } = newRunner();
  const incoming = new Incoming(store);
  const [asked, answer] = [new Deferred<void>(), new Deferred<unknown>()];
  const asks: unknown[] = [];
  const ready: unknown[] = [];
  const table = SlotTable.of(1);
  const link = { session: 's', signal: new AbortController().signal, sendHandOver() {} };
  const outgoing = new Outgoing(
    {
      mesh: {
        id: 1,
        request: async (_: number, topic: string, body: { isLast?: boolean }) => {
          if (topic === Topic.INCOMING) return { floor: 0 };
          return body.isLast ? brought : null;
        },
      } as never,
      coordinator: {
        request: (topic: string, { isReady }: { isReady: boolean }) => {
          asks.push(topic);
          ready.push(isReady);
          asked.resolve();
          return (asks.length > 1 && again ? again : answer).promise;
        },
      } as never,
      peers: { link: () => link } as never,
      store,
      table,
      incoming,
      logId: 1n,
      stopLimit,
      ended: new AbortController().signal,
    },
    { number: NUMBER, ranges: RANGES, target: 2 },
  );
  return { store, incoming, outgoing, asks, ready, asked: asked.promise, answer, table, ...runner };
}

function newRunner() {
  const runner = new CommandRunner(new RecordedLog());
  for (const key of ['a', 'b']) runner.run('SET', key, 'of this server');
  const textOf = (key: string) => runner.keyspace.get(slotOfKey(key), key)?.value;
  return { store: runner.store, runner, textOf };
}

it.each([
  [
    'a takeover',
    async ({ incoming, store }: ReturnType<typeof start>) => {
      incoming.yield(NUMBER + 1, [[slot, slot]]);
      await store.forget([[slot, slot]]);
    },
  ],
  [
    'a later hand-over',
    async ({ incoming }: ReturnType<typeof start>) => {
      const facts = { session: 't', version: 0, bytes: 0 };
      await incoming.begin({ number: NUMBER + 1, ranges: [[slot, slot]], ...facts });
    },
  ],
])('a late answer does not forget what %s has brought back meanwhile', async (_, bring) => {
  const source = start();
  const ran = source.outgoing.run();
  await source.asked;
  await bring(source);
  source.runner.run('SET', 'a', 'brought back');
  source.answer.resolve({ outcome: 'moved', epoch: 12 });
  expect(await ran).toBe('moved');
  expect(source.textOf('a')).toBe('brought back');
  expect(source.textOf('b')).toBe(undefined);
});

it('what a takeover brings stays, if it begins just when the slots are about to be forgotten', async () => {
  const source = start();
  const { incoming, store } = source;
  let brought: Promise<void> | undefined;
  const bring = async (): Promise<void> => {
    incoming.yield(NUMBER + 1, RANGES);
    await store.forget(RANGES);
    source.runner.run('SET', 'a', 'brought back');
  };
  incoming.isLater = (...looked) => {
    brought ??= Promise.resolve().then(bring);
    return Incoming.prototype.isLater.apply(incoming, looked);
  };
  const ran = source.outgoing.run();
  source.answer.resolve({ outcome: 'moved', epoch: 12 });
  await Promise.all([ran, source.asked]);
  await brought;
  expect(source.textOf('a')).toBe('brought back');
  expect(source.textOf('b')).toBe(undefined);
});

it.each([
  ['once more where the table came before the answer: others wait for the one after it', 0, 2],
  ['once where the table comes after the answer', 5, 1],
])('a source that keeps its slots asks %s', async (_, epoch, times) => {
  const source = start();
  source.answer.resolve({ outcome: 'kept', epoch });
  await expect(source.outgoing.run()).rejects.toMatchObject({ code: 'ERR_RDMC_KV_HANDOVER_FAILED' });
  expect(source.asks).toEqual(Array(times).fill(Topic.SETTLE));
});

it('a source that keeps its slots does not follow their changes while it asks once more', async () => {
  const again = new Deferred<unknown>();
  const source = start({ again });
  const follow = vi.spyOn(source.store, 'follow');
  const ran = rejection(source.outgoing.run());
  await source.asked;
  expect(follow.mock.lastCall?.[0]).toBeDefined();
  source.answer.resolve({ outcome: 'kept', epoch: 0 });
  await until(() => source.asks.length === 2);
  expect(follow.mock.lastCall).toEqual([undefined]);
  again.resolve({ outcome: 'kept', epoch: 0 });
  await ran;
});

it.each(['the target does not say that it has the rest', 'an append of this server is held'])(
  'a source serves its slots again where %s in time',
  async (why) => {
    const held = new Deferred<never>();
    const stopLimit = new StopLimit(1);
    const isHeld = why.startsWith('an append');
    const source = start({ stopLimit, ...(isHeld ? {} : { brought: held.promise }) });
    if (isHeld) vi.spyOn(source.store, 'settled').mockReturnValue(held.promise);
    const ran = rejection(source.outgoing.run());
    await source.asked;
    // Only the coordinator lets it serve them.
    expect(source.ready).toEqual([false]);
    expect(source.table.owner(slot)).not.toBe(1);
    source.answer.resolve({ outcome: 'kept', epoch: 5 });
    expect(await ran).toMatchObject({
      code: 'ERR_RDMC_KV_HANDOVER_FAILED',
      message: expect.stringContaining('without a server for 1 ms'),
    });
    expect(source.table.owner(slot)).toBe(1);
    expect(stopLimit.ms).toBe(2);
  },
);

it('the limit follows what hand-overs need', () => {
  const limit = new StopLimit(1000);
  limit.exceeded();
  limit.exceeded();
  expect(limit.ms).toBe(4000);
  for (let i = 0; i < 10; i += 1) limit.exceeded();
  expect(limit.ms).toBe(HANDOVER_STOP_MAX_MS);
  for (let i = 0; i < 10; i += 1) limit.met();
  expect(limit.ms).toBe(1000);
});
