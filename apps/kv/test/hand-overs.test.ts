/** The coordinator's side of hand-overs, with servers that the test is. */
import type { Subscription } from '@rdmc/common';
import { expect, it } from 'vitest';
import { type SettleMessage, Topic } from '../src/cluster/messages.js';
import { PlacementState } from '../src/cluster/placement-state.js';
import { HandOvers, type Move } from '../src/handover/hand-overs.js';
import { FakeStore, record } from './support/fake-mesh.js';

const MOVE: Move = {
  source: { member: 1, logId: '1' },
  target: { member: 2, logId: '2' },
  slots: [7, 8],
};

/** Hand-overs over servers 1 and 2, of which the first one has all slots. */
class Orders {
  readonly dropped: [server: number, number: number][] = [];
  readonly handOvers: HandOvers;
  /** The numbers of the tables that servers were told. */
  readonly told: number[] = [];
  /** Answers the target that is told to forget slots. */
  forgets: () => Promise<unknown> = async () => null;
  /** Answers the order to hand over; by its number. */
  carryOut: (number: number) => Promise<unknown> = async () => ({ outcome: 'moved' });
  #settle: (from: number, body: unknown) => unknown = () => undefined;

  constructor(readonly store = new FakeStore()) {
    const peers = new Map([1, 2].map((id) => [id, { state: 'connected' }]));
    const state = new PlacementState(store as never);
    this.handOvers = new HandOvers({
      mesh: { peers } as never,
      orders: {
        request: async (member: number, topic: string, body: never) => {
          const { number } = body as { number: number };
          if (topic === Topic.HAND_OVER) return this.carryOut(number);
          this.dropped.push([member, number]);
          return this.forgets();
        },
        onRequest: (_: string, handler: (from: number, body: unknown) => unknown) => {
          this.#settle = handler;
          return {} as Subscription;
        },
      } as never,
      state,
      logs: async () => [record(1, 'live'), record(2, 'live')],
      ended: new AbortController().signal,
      onChange: async () => {
        this.told.push(await state.next());
      },
    });
  }

  async start(): Promise<this> {
    await this.store.put('kv/slots', '[[0,16383,"1"]]', 0);
    return this;
  }

  settle(message: Partial<SettleMessage>): unknown {
    const whole = { ranges: [[7, 8]], logId: '1', floor: 3, isReady: true, target: 2, ...message };
    return this.#settle(1, whole);
  }
}

it('a source that asks about a hand-over which nobody knows keeps the slots, and the target is told to forget them', async () => {
  const orders = await new Orders().start();
  expect(await orders.settle({ number: 40 })).toMatchObject({ outcome: 'kept' });
  await expect.poll(() => orders.dropped).toEqual([[2, 40]]);
});

it('of a source that does not name the target, nobody is told', async () => {
  const orders = await new Orders().start();
  expect(await orders.settle({ number: 40, target: 0 })).toMatchObject({ outcome: 'kept' });
  expect(orders.dropped).toEqual([]);
});

it('a target whose commit the records refuse is told to forget the slots', async () => {
  const orders = await new Orders().start();
  let number!: number;
  orders.carryOut = async (ordered) => {
    number = ordered;
    // Meanwhile somebody has given the slots new epochs.
    await orders.settle({ number: 1000, target: 0 });
    return orders.settle({ number });
  };
  await expect(orders.handOvers.run(MOVE)).rejects.toMatchObject({ code: 'ERR_RDMC_KV_HANDOVER_FAILED' });
  expect(orders.dropped).toEqual([[2, number]]);
});

it('the target of a hand-over that has happened is not told to forget the slots', async () => {
  const orders = await new Orders().start();
  orders.carryOut = (number) => Promise.resolve(orders.settle({ number }));
  await orders.handOvers.run(MOVE);
  // An answer that was lost: it asks again.
  expect(await orders.settle({ number: 1 })).toMatchObject({ outcome: 'moved' });
  expect(orders.dropped).toEqual([]);
});

it('a commit that the store has applied, and did not answer, is told when the source asks again', async () => {
  const orders = await new Orders().start();
  const { store } = orders;
  const put = store.put.bind(store);
  let isLost = true;
  store.put = async (key, value, revision) => {
    const stored = await put(key, value, revision);
    if (key !== 'kv/slots' || !isLost) return stored;
    isLost = false;
    throw Object.assign(new Error('out of reach'), { code: 'ERR_RDMC_STATE_UNREACHABLE' });
  };
  let answer: unknown;
  orders.carryOut = async (number) => {
    await expect(orders.settle({ number })).rejects.toMatchObject({ code: 'ERR_RDMC_STATE_UNREACHABLE' });
    expect(orders.told).toEqual([]);
    answer = await orders.settle({ number });
    return answer;
  };
  await orders.handOvers.run(MOVE);
  expect(answer).toMatchObject({ outcome: 'moved' });
  expect(orders.told).toHaveLength(1);
  expect(orders.told[0]).toBeGreaterThan((answer as { epoch: number }).epoch);
});

it('a source whose answer was lost, and that asks again, gets a table above the second answer', async () => {
  const orders = await new Orders().start();
  let second!: { epoch: number };
  orders.carryOut = async (number) => {
    await orders.settle({ number });
    second = (await orders.settle({ number })) as typeof second;
    return second;
  };
  await orders.handOvers.run(MOVE);
  expect(second).toMatchObject({ outcome: 'moved' });
  expect(orders.told.at(-1)).toBeGreaterThan(second.epoch);
});

it('a target that does not answer does not hold up other hand-overs', async () => {
  const orders = await new Orders().start();
  orders.forgets = () => new Promise(() => {});
  orders.carryOut = async () => ({ outcome: 'kept' });
  await expect(orders.handOvers.run(MOVE)).rejects.toMatchObject({ code: 'ERR_RDMC_KV_HANDOVER_FAILED' });
  expect(orders.dropped).toHaveLength(1);
  expect(await orders.settle({ number: 40, target: 0 })).toMatchObject({ outcome: 'kept' });
});
