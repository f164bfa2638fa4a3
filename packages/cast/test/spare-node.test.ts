import { PassThrough, Readable } from 'node:stream';
import type { Worker } from 'node:worker_threads';
import { castStream } from '@rdmc/cast';
import { until } from '@rdmc/testing';
import { expect, it, onTestFinished } from 'vitest';
import { HEARTBEAT_MS, REFILL_DELAY_MS } from '../src/constants.js';
import { SpareNode } from '../src/spare-node.js';
import { startReceivers } from './support/receivers.js';

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

it('a receiver starts no threads of the next cast while one is in progress', async () => {
  const [first] = await startReceivers(1);
  const { receiver, to } = first!;
  const living = new Set<Worker>();
  const count = (worker: Worker): void => {
    living.add(worker);
    worker.once('exit', () => living.delete(worker));
  };
  process.on('worker', count);
  onTestFinished(() => void process.off('worker', count));
  await castStream(Readable.from([Buffer.from('first')]), { name: 'first', to: [to] }).finished;
  const input = new PassThrough();
  input.write('second');
  const second = castStream(input, { name: 'second', to: [to] });
  // A receiver that rests has started them by then.
  const enough = 2 + Math.ceil(REFILL_DELAY_MS / HEARTBEAT_MS);
  let reports = 0;
  for await (const { type } of receiver) {
    if (type === 'progress') reports += 1;
    if (reports === enough) break;
  }
  // Two of the sender, and two of the receiver: those that it had started ahead took part in the first cast.
  await until(() => living.size <= 4);
  expect(living.size).toBe(4);
  input.end();
  await second.finished;
});
