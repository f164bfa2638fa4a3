import { Buffer } from 'node:buffer';
import type { Group, RdmcNode, ReceivedMessage } from '@rdmc/group';
import { rejection, thrown, until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import {
  clusterForAll,
  collect,
  createEverywhere,
  filledRegion,
  groupIdForEach,
  settleMessages,
  sha256,
} from './support/cluster.js';

/** Sends that many messages of ten bytes, which are their numbers. Resolves when all are queued. */
async function sendNumbered(node: RdmcNode, root: Group, count: number): Promise<{ sent: Promise<void> }> {
  const region = await node.allocate(count * 10);
  const sends = Array.from({ length: count }, (_, number) => {
    region.view(number * 10, 10).fill(number);
    return root.send({ region, offset: number * 10, byteLength: 10 });
  });
  return { sent: Promise.all(sends).then(() => region.close()) };
}

describe('memory ahead', () => {
  const nodes = clusterForAll(3);
  const group = groupIdForEach();

  it('takes messages that fit without a call of incoming; longer ones get their memory there', async () => {
    const asked: number[] = [];
    const incoming = (byteLength: number) => {
      asked.push(byteLength);
      return nodes[1]!.allocate(byteLength);
    };
    const receive = { messages: 3, byteLength: 1000 };
    const options = { ...group, members: [0, 1], blockBytes: 300, receive, incoming };
    const [root, receiver] = await createEverywhere(nodes, options);
    const sizes = [1000, 0, 5000, 1, 1001, 999, 1000, 300, 301];
    const regions = await Promise.all(sizes.map((size, i) => filledRegion(nodes[0]!, size, i)));
    const sends = regions.map((region, i) => root!.send(region, { byteLength: sizes[i]! }));
    const closing = root!.close();
    let number = 0;
    for await (const message of receiver!) {
      expect(message.number).toBe(number);
      expect(sha256(message.view)).toBe(sha256(regions[number]!.view(0, sizes[number]!)));
      message.release();
      message.release();
      expect(thrown(() => message.view)).toMatchObject({ code: 'ERR_RDMC_REGION_CLOSED' });
      number += 1;
    }
    await Promise.all([...sends, closing, receiver!.close()]);
    expect(number).toBe(sizes.length);
    expect(asked).toEqual([5000, 1001]);
    await Promise.all(regions.map((region) => region.close()));
  });

  it('holds the group while every slot is in use, and loses nothing', async () => {
    const receive = { messages: 4, byteLength: 10 };
    const [root, ...receivers] = await createEverywhere(nodes, { ...group, members: [0, 1, 2], receive });
    const { sent } = await sendNumbered(nodes[0]!, root!, 30);
    const collecting = collect(receivers[1]!);
    const held: ReceivedMessage[] = [];
    const slow = receivers[0]![Symbol.asyncIterator]();
    for (let i = 0; i < 4; i += 1) held.push((await slow.next()).value!);
    const fifth = slow.next();
    await settleMessages(nodes);
    expect(receivers[0]!.progress().messagesReceived).toBe(4);
    expect(held.map(({ view }) => view[0])).toEqual([0, 1, 2, 3]);
    held[2]!.release();
    const { value } = await fifth;
    expect(value!.view[0]).toBe(4);
    expect(held[0]!.view[9]).toBe(0);
    for (const message of [...held, value!]) message.release();
    for (let number = 5; number < 30; number += 1) {
      const message = (await slow.next()).value!;
      expect([message.number, message.view[0]]).toEqual([number, number]);
      message.release();
    }
    await Promise.all([sent, root!.close(), ...receivers.map((receiver) => receiver.close())]);
    expect((await collecting).map(({ number }) => number)).toEqual(Array.from({ length: 30 }, (_, i) => i));
  });

  it('does not prevent a close: messages without a slot get other memory then', async () => {
    const receive = { messages: 2, byteLength: 10 };
    const [root, receiver] = await createEverywhere(nodes, { ...group, members: [0, 1], receive });
    const { sent } = await sendNumbered(nodes[0]!, root!, 20);
    await until(() => receiver!.progress().messagesReceived === 2);
    await Promise.all([sent, root!.close(), receiver!.close()]);
    const read: number[] = [];
    for await (const { number, view } of receiver!) {
      expect(view[3]).toBe(number);
      read.push(number);
    }
    expect(read).toEqual(Array.from({ length: 20 }, (_, number) => number));
  });

  it('gives messages in batches', async () => {
    const receive = { messages: 64, byteLength: 10 };
    const [root, receiver] = await createEverywhere(nodes, { ...group, members: [0, 1], receive });
    const { sent } = await sendNumbered(nodes[0]!, root!, 100);
    const closing = root!.close();
    const read: number[] = [];
    const batches = receiver!.messages();
    expect(thrown(() => receiver!.messages())).toMatchObject({ code: 'ERR_RDMC_ITERATOR_TAKEN' });
    expect(thrown(() => root!.messages())).toMatchObject({ code: 'ERR_RDMC_ROOT_RECEIVES_NOTHING' });
    for await (const batch of batches) {
      expect(batch.length).toBeGreaterThan(0);
      for (const message of batch) {
        read.push(message.view[0]!);
        message.release();
      }
    }
    await Promise.all([sent, closing, receiver!.close()]);
    expect(read).toEqual(Array.from({ length: 100 }, (_, number) => number));
  });

  it('keeps what was delivered when the group fails, in memory that stays open', async () => {
    const receive = { messages: 8, byteLength: 10 };
    const [root, receiver, third] = await createEverywhere(nodes, { ...group, members: [0, 1, 2], receive });
    const { sent } = await sendNumbered(nodes[0]!, root!, 3);
    await sent;
    const messages = receiver![Symbol.asyncIterator]();
    const held: ReceivedMessage[] = [];
    for (let number = 0; number < 3; number += 1) held.push((await messages.next()).value!);
    await rejection(third!.close({ signal: AbortSignal.abort() }));
    await Promise.all([receiver!.closed, root!.closed]);
    for (const message of held) {
      expect(Buffer.from(message.view)).toEqual(Buffer.alloc(10, message.number));
      message.release();
    }
    expect(await rejection(messages.next())).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 2 });
    await rejection(Promise.all([root!.close(), receiver!.close()]));
  });

  it.each([
    [{ messages: 0, byteLength: 1 }, 'ERR_RDMC_INVALID_OPTION'],
    [{ messages: 1, byteLength: 0 }, 'ERR_RDMC_INVALID_OPTION'],
    [{ messages: 65_536, byteLength: 65_536 }, 'ERR_RDMC_INVALID_OPTION'],
    [{ messages: 1, bytes: 1 }, 'ERR_RDMC_UNKNOWN_OPTION'],
    [7, 'ERR_RDMC_INVALID_OPTION'],
  ])('refuses %j', async (receive, code) => {
    expect(
      await rejection(nodes[0]!.createGroup({ ...group, members: [0, 1], receive: receive as never })),
    ).toMatchObject({
      code,
    });
  });
});
