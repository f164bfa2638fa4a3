import { expect, it } from 'vitest';
import { SingleConsumer } from '../src/index.js';

const taken = (): Error => new Error('taken');

it('gives in order what was pushed before and while somebody waits, and then the end', async () => {
  const read: number[] = [];
  const queue = new SingleConsumer<number>({ taken, onTaken: (item) => read.push(item) });
  queue.push(1);
  const items = queue[Symbol.asyncIterator]();
  const [first, second, end] = [items.next(), items.next(), items.next()];
  queue.push(2);
  queue.end();
  expect(await Promise.all([first, second])).toEqual([
    { done: false, value: 1 },
    { done: false, value: 2 },
  ]);
  expect(await end).toEqual({ done: true, value: undefined });
  expect(read).toEqual([1, 2]);
});

it('fails after the last item', async () => {
  const queue = new SingleConsumer<number>({ taken });
  queue.push(1);
  queue.end(new Error('lost'));
  queue.end();
  const read: number[] = [];
  const reading = (async () => {
    for await (const item of queue) read.push(item);
  })();
  await expect(reading).rejects.toThrow('lost');
  expect(read).toEqual([1]);
});

it('has one consumer at a time; the next one goes on where the first left', async () => {
  const queue = new SingleConsumer<number>({ taken });
  for (const item of [1, 2]) queue.push(item);
  const first = queue[Symbol.asyncIterator]();
  expect(() => queue[Symbol.asyncIterator]()).toThrow('taken');
  await first.next();
  await first.return!();
  expect(await first.next()).toEqual({ done: true, value: undefined });
  const second = queue[Symbol.asyncIterator]();
  expect(await second.next()).toEqual({ done: false, value: 2 });
  const waiting = second.next();
  await second.return!();
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect(queue.unread).toBe(0);
});

it('drops what is replaced, and the oldest of too many', async () => {
  const queue = new SingleConsumer<string>({ taken, most: 3, replaces: (next, old) => next[0] === old[0] });
  for (const item of ['a1', 'b1', 'a2', 'c1', 'd1']) queue.push(item);
  queue.end();
  const read: string[] = [];
  for await (const item of queue) read.push(item);
  expect(read).toEqual(['a2', 'c1', 'd1']);
});

it('gives batches: all that waits, and what is pushed until the microtasks run', async () => {
  const read: number[] = [];
  const queue = new SingleConsumer<number>({ taken, onTaken: (item) => read.push(item) });
  for (const item of [1, 2, 3]) queue.push(item);
  const batches = queue.batches(2);
  expect(await batches.next()).toEqual({ done: false, value: [1, 2] });
  expect(await batches.next()).toEqual({ done: false, value: [3] });
  const waiting = batches.next();
  for (const item of [4, 5, 6]) queue.push(item);
  expect(await waiting).toEqual({ done: false, value: [4, 5] });
  const [last, end] = [batches.next(), batches.next()];
  queue.push(7);
  queue.end();
  expect(await last).toEqual({ done: false, value: [6] });
  expect(await end).toEqual({ done: false, value: [7] });
  expect(await batches.next()).toEqual({ done: true, value: undefined });
  expect(read).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

it('asks for items when the consumer wants one and none waits', async () => {
  const source = [[1, 2], [3], []];
  const queue = new SingleConsumer<number>({
    taken,
    refill: () => {
      for (const item of source.shift() ?? []) queue.push(item);
    },
  });
  const items = queue[Symbol.asyncIterator]();
  expect([await items.next(), await items.next(), await items.next()].map(({ value }) => value)).toEqual([
    1, 2, 3,
  ]);
  const waiting = items.next();
  expect(queue.awaited).toBe(true);
  queue.push(4);
  expect(await waiting).toEqual({ done: false, value: 4 });
});
