import { openDevice } from '@rdmc/verbs';
import { expect, it, onTestFinished } from 'vitest';
import { createControl } from '../src/control.js';
import { CounterBlock } from '../src/counters.js';
import type { ProtocolContext } from '../src/protocol.js';
import { ProtocolHost } from '../src/protocol-host.js';
import { recordTable } from '../src/record-table.js';

const records = recordTable({ commands: {}, events: {} });
const handler = { onCompletion() {} };

/** A host on a soft device, with passive protocols. */
async function host() {
  const device = await openDevice({ device: 'soft' });
  onTestFinished(() => device.close());
  const protectionDomain = device.allocateProtectionDomain();
  const completionQueue = device.createCompletionQueue({ depth: 64 });
  const counters = new CounterBlock(createControl());
  const made = new ProtocolHost({
    device,
    protectionDomain,
    completionQueue,
    counters,
    wake() {},
    look() {},
    onFailure() {},
  });
  const queues = { sendQueue: completionQueue, receiveQueue: completionQueue, sendDepth: 4, receiveDepth: 4 };
  const add = async (name: string, waitsForSolicited?: () => boolean) => {
    let context: ProtocolContext | undefined;
    const start = (given: ProtocolContext) => {
      context = given;
      return { commands: {}, ...(waitsForSolicited && { waitsForSolicited }) };
    };
    const hosted = await made.add(name, undefined, { records, start: start as never }, () => ({}));
    return { context: context!, hosted };
  };
  return { made, add, createQueuePair: () => protectionDomain.createQueuePair(queues) };
}

it('saves wake-ups beside a protocol without queue pairs and without waitsForSolicited', async () => {
  const { made, add } = await host();
  await add('saving', () => true);
  await add('other');
  expect(made.waitsForSolicited()).toBe(true);
});

it('waits for all completions while a protocol without waitsForSolicited has queue pairs', async () => {
  const { made, add, createQueuePair } = await host();
  await add('saving', () => true);
  const { context } = await add('other');
  const [first, second] = [createQueuePair(), createQueuePair()];
  context.attach(first, handler);
  context.attach(second, handler);
  // Attached again, with another handler: it still counts as one queue pair.
  context.attach(second, { onCompletion() {} });
  expect(made.waitsForSolicited()).toBe(false);
  context.detach(first);
  expect(made.waitsForSolicited()).toBe(false);
  context.detach(second);
  context.detach(second);
  expect(made.waitsForSolicited()).toBe(true);
});

it('does not count a detached queue pair of another protocol', async () => {
  const { made, add, createQueuePair } = await host();
  const one = await add('one');
  const other = await add('other');
  const queuePair = createQueuePair();
  one.context.attach(queuePair, handler);
  other.context.detach(queuePair);
  expect(made.waitsForSolicited()).toBe(true);
  expect([one.hosted.attached, other.hosted.attached]).toEqual([0, 0]);
});

it('closes a queue pair that a protocol attaches after its end', async () => {
  const { made, add, createQueuePair } = await host();
  const { context, hosted } = await add('failing');
  const before = createQueuePair();
  context.attach(before, handler);
  made.fail(hosted, new Error('thrown'));
  const late = createQueuePair();
  context.attach(late, handler);
  await made.release();
  for (const { number } of [before, late]) {
    context.submission.begin(0, number, 1, 0);
    context.submission.flush();
  }
  // Refused: the queue pair does not exist any more.
  expect(made.dispatchRefused()).toBe(2);
});

it('does not dispatch completions of a queue pair to the next one with its number', async () => {
  const { made, add, createQueuePair } = await host();
  const { context } = await add('one');
  const queuePair = createQueuePair();
  const heard: string[] = [];
  context.attach(queuePair, { onCompletion: () => heard.push('first') });
  context.submission.begin(0, queuePair.number, 1, 0);
  context.detach(queuePair);
  context.attach(queuePair, { onCompletion: () => heard.push('second') });
  expect(made.dispatchRefused()).toBe(1);
  expect(heard).toEqual([]);
});
