/** The source's side of a hand-over whose answer is late, against servers that the test is. */
import { Deferred } from '@rdmc/common';
import { rejection, until } from '@rdmc/testing';
import { expect, it, vi } from 'vitest';
import { Topic } from '../src/cluster/messages.js';
import { SlotTable } from '../src/cluster/slot-table.js';
import { Incoming } from '../src/handover/incoming.js';
import { Outgoing } from '../src/handover/outgoing.js';
import { CommandRunner } from './support/command-runner.js';
import { RecordedLog, slotOfKey } from './support/recorded-log.js';

const [slot, other] = [slotOfKey('a'), slotOfKey('b')];
const [first, last] = [Math.min(slot, other), Math.max(slot, other)];
const RANGES: [number, number][] = [
  [first, first],
  [last, last],
];
const NUMBER = 10;

/** Server 1 hands the slots of `a` and `b` over to server 2, which is the test. `again`: the answer to what it asks again. */
function start(again?: Deferred<unknown>) {
  const { store, ...runner } = newRunner();
  const incoming = new Incoming(store);
  const [asked, answer] = [new Deferred<void>(), new Deferred<unknown>()];
  const asks: unknown[] = [];
  const link = { session: 's', signal: new AbortController().signal, sendHandOver() {} };
  const outgoing = new Outgoing(
    {
      mesh: {
        id: 1,
        request: async (_: number, topic: string) => (topic === Topic.INCOMING ? { floor: 0 } : null),
      } as never,
      coordinator: {
        request: (topic: string) => {
          asks.push(topic);
          asked.resolve();
          return (asks.length > 1 && again ? again : answer).promise;
        },
      } as never,
      peers: { link: () => link } as never,
      store,
      table: SlotTable.of(1),
      incoming,
      logId: 1n,
      ended: new AbortController().signal,
    },
    { number: NUMBER, ranges: RANGES, target: 2 },
  );
  return { store, incoming, outgoing, asks, asked: asked.promise, answer, ...runner };
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
  const source = start(again);
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
