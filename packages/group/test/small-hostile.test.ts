import { Buffer } from 'node:buffer';
import { rejection } from '@rdmc/testing';
import type { SubmissionQueue } from '@rdmc/verbs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { clusterForAll, createEverywhere, groupIdForEach } from './support/cluster.js';

afterEach(() => vi.restoreAllMocks());

/** In the application's thread, so that the counters can be changed on their way to the device. */
describe('invalid counters of small messages', () => {
  const nodes = clusterForAll(2, { thread: 'application' });
  const group = groupIdForEach();

  /** Changes the first immediate that fits. */
  function changeImmediate(fits: (value: number) => boolean, changed: number): void {
    const queue: SubmissionQueue = nodes[0]!.device.createSubmissionQueue();
    const prototype = Object.getPrototypeOf(queue) as SubmissionQueue;
    const { immediate } = prototype;
    let isChanged = false;
    vi.spyOn(prototype, 'immediate').mockImplementation(function change(
      this: SubmissionQueue,
      value: number,
    ) {
      const takes = !isChanged && fits(value);
      isChanged ||= takes;
      immediate.call(this, takes ? changed : value);
    });
  }

  it.each([
    ['a batch that overruns the ring', 1 << 20, 'into a ring'],
    ['an empty batch', 0, 'into a ring'],
  ])('%s ends the group, and the root is named', async (_name, changed, reason) => {
    const [root, receiver] = await createEverywhere(nodes, { ...group, members: [0, 1] });
    const messages = Array.from({ length: 777 }, () => Buffer.of(1));
    // One batch, because the worker side runs after the call: two units for each message.
    changeImmediate((value) => value === 2 * messages.length, changed);
    await root!.sendMany(messages);
    const error = await rejection(receiver!.closed.then(() => receiver!.close()));
    expect(error).toMatchObject({ code: 'ERR_RDMC_PROTOCOL', memberId: 0 });
    expect(error.message).toContain(reason);
    expect(await rejection(root!.close())).toMatchObject({ code: 'ERR_RDMC_PROTOCOL', memberId: 0 });
  });

  it('fewer messages at the end than were sent end the group, and the root is named', async () => {
    const [root, receiver] = await createEverywhere(nodes, { ...group, members: [0, 1] });
    const { mesh } = nodes[0]!;
    const send = mesh.send.bind(mesh);
    vi.spyOn(mesh, 'send').mockImplementation((to, topic, body) => {
      const { type } = body as { type?: string };
      send(to, topic, type === 'sent' ? { ...(body as object), messages: 2 } : body);
    });
    const messages = receiver![Symbol.asyncIterator]();
    await root!.sendMany([Buffer.of(0), Buffer.of(1), Buffer.of(2)]);
    for (let count = 0; count < 3; count += 1) (await messages.next()).value!.release();
    const errors = await Promise.all([root!, receiver!].map((group) => rejection(group.close())));
    for (const error of errors) expect(error).toMatchObject({ code: 'ERR_RDMC_PROTOCOL', memberId: 0 });
  });

  it('an ack of more than was sent ends the group, and the receiver is named', async () => {
    const [root, receiver] = await createEverywhere(nodes, { ...group, members: [0, 1] });
    // The first ack, for however many batches: it is due after a few.
    changeImmediate((value) => value >>> 16 > 0, 0xf000_0001);
    const messages = receiver!.messages();
    const reading = rejection(
      (async () => {
        for await (const batch of messages) for (const message of batch) message.release();
      })(),
    );
    for (let i = 0; !root!.signal.aborted; i += 1) {
      await root!.send(Buffer.of(i & 0xff)).catch(() => {});
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await reading).toMatchObject({ code: 'ERR_RDMC_PROTOCOL', memberId: 1 });
    await root!.closed;
    expect(await rejection(root!.close())).toMatchObject({ code: 'ERR_RDMC_PROTOCOL', memberId: 1 });
    await rejection(receiver!.close());
  });
});
