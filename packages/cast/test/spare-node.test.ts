import { expect, it } from 'vitest';
import { SpareNode } from '../src/spare-node.js';

it('gives each worker to one cast, and starts the next one when it is asked', async () => {
  const spare = new SpareNode();
  expect(spare.take()).toBeUndefined();
  spare.refill();
  spare.refill();
  const first = spare.take();
  expect(first?.isWaiting).toBe(true);
  expect(spare.take()).toBeUndefined();
  spare.refill();
  const second = spare.take();
  expect(second).not.toBe(first);
  await Promise.all([first?.close(), second?.close()]);
});

it('ends the worker that no cast has taken, and starts no other one then', async () => {
  const spare = new SpareNode();
  spare.refill();
  const taken = spare.take()!;
  spare.refill();
  await spare.end();
  expect(taken.isWaiting).toBe(true); // the cast ends it
  await taken.close();
  expect(spare.take()).toBeUndefined();
  spare.refill();
  expect(spare.take()).toBeUndefined();
});
