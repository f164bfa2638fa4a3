import { Buffer } from 'node:buffer';
import type { Group, GroupOptions, ReceivedMessage } from '@rdmc/group';
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
  startCluster,
  stopCluster,
} from './support/cluster.js';

const KIB = 1024;

/** A message whose bytes follow from its number. */
function content(number: number, byteLength: number): Buffer {
  return Buffer.alloc(byteLength, `${number},`);
}

describe('small messages', () => {
  const nodes = clusterForAll(3);
  const group = groupIdForEach();

  function create(members: number[], options: Partial<GroupOptions> = {}): Promise<Group[]> {
    return createEverywhere(nodes, { ...group, members, ...options });
  }

  it('come in one order with long messages and regions, without blocks of their own', async () => {
    const groups = await create([0, 1, 2]);
    const [root, ...receivers] = groups;
    const collecting = receivers.map(collect);
    const region = await filledRegion(nodes[0]!, 3000, 2);
    const expected: string[] = [];
    const sends: Promise<void>[] = [];
    const sizes = [1, 8 * KIB, 8 * KIB + 1, 0, 7, 100_000, 8, 9, 8 * KIB - 1];
    for (let number = 0; number < 120; number += 1) {
      if (number % 10 === 9) {
        sends.push(root!.send(region));
        expected.push(sha256(region.view(0, 3000)));
        continue;
      }
      const bytes = content(number, sizes[number % 9]!);
      sends.push(root!.send(bytes));
      expected.push(sha256(bytes));
    }
    await Promise.all([...sends, ...groups.map((group) => group.close())]);
    for (const messages of await Promise.all(collecting)) {
      expect(messages.map(({ number }) => number)).toEqual(expected.map((_, number) => number));
      expect(messages.map(({ hash }) => hash)).toEqual(expected);
    }
    await region.close();
  });

  it('are counted in the progress, and do not use blocks', async () => {
    const [root, receiver] = await create([0, 1]);
    const collecting = collect(receiver!);
    await root!.sendMany([content(0, 10), content(1, 20), content(2, 30)]);
    await Promise.all([root!.close(), receiver!.close()]);
    await collecting;
    expect(root!.progress()).toMatchObject({ messagesSent: 3, bytesSent: 60, blocksSent: 0 });
    expect(receiver!.progress()).toMatchObject({ messagesReceived: 3, bytesReceived: 60, bytesExpected: 60 });
    expect(receiver!.progress().blocksReceived).toBe(0);
  });

  it('go in arrays and come in batches, beside long messages', async () => {
    const groups = await create([0, 1, 2]);
    const [root, ...receivers] = groups;
    const all = Array.from({ length: 5000 }, (_, number) =>
      content(number, number % 500 === 3 ? 20_000 : number % 40),
    );
    const reading = receivers.map(async (receiver) => {
      const read: ReceivedMessage[] = [];
      let batches = 0;
      for await (const batch of receiver.messages()) {
        batches += 1;
        for (const message of batch) {
          expect(Buffer.compare(message.view, all[read.length]!)).toBe(0);
          message.release();
          read.push(message);
        }
      }
      expect(batches).toBeLessThan(all.length);
      return read.map(({ number }) => number);
    });
    await Promise.all([root!.sendMany(all), root!.sendMany([])]);
    await Promise.all(groups.map((group) => group.close()));
    for (const numbers of await Promise.all(reading)) expect(numbers).toEqual(all.map((_, number) => number));
  });

  it('hold the sender up while a receiver does not read, and lose nothing', async () => {
    const groups = await create([0, 1, 2]);
    const [root, slow, quick] = groups;
    const count = 400;
    let sent = 0;
    const sends = Array.from({ length: count }, async (_, number) => {
      await root!.send(content(number, 8 * KIB));
      sent += 1;
    });
    const collecting = collect(quick!);
    await until(() => quick!.progress().messagesReceived > 30);
    await settleMessages(nodes);
    // The rings have room for 64 of them.
    expect(sent).toBeLessThan(70);
    let number = 0;
    for await (const message of slow!) {
      expect(Buffer.compare(message.view, content(number, 8 * KIB))).toBe(0);
      message.release();
      number += 1;
      if (number === count) break;
    }
    await Promise.all([...sends, ...groups.map((group) => group.close())]);
    expect((await collecting).map((message) => message.number)).toEqual(
      Array.from({ length: count }, (_, i) => i),
    );
  });

  it('belong to the application until they are released, more of them than the ring has room for', async () => {
    const [root, receiver] = await create([0, 1]);
    const count = 1500;
    const sending = root!.sendMany(Array.from({ length: count }, (_, number) => content(number, KIB)));
    const held: ReceivedMessage[] = [];
    for await (const message of receiver!) if (held.push(message) === count) break;
    await Promise.all([sending, root!.close(), receiver!.close()]);
    held.forEach((message, number) => {
      expect(
        Buffer.compare(message.region.view(message.offset, message.byteLength), content(number, KIB)),
      ).toBe(0);
      message.release();
      message.release();
      expect(thrown(() => message.view)).toMatchObject({ code: 'ERR_RDMC_REGION_CLOSED' });
    });
  });

  it('do not prevent a close, also if nobody reads', async () => {
    const [root, receiver] = await create([0, 1]);
    const all = Array.from({ length: 300 }, (_, number) =>
      content(number, number % 7 === 0 ? 9 * KIB : 8 * KIB),
    );
    const sending = root!.sendMany(all);
    await Promise.all([sending, root!.close(), receiver!.close()]);
    const messages = await collect(receiver!);
    expect(messages.map(({ hash }) => hash)).toEqual(all.map(sha256));
  });

  it('reach a receiver that neither reads nor closes, once the root closes', async () => {
    const [root, receiver] = await create([0, 1]);
    const all = Array.from({ length: 500 }, (_, number) => content(number, 40));
    await root!.sendMany(all);
    await root!.close();
    expect((await collect(receiver!)).map(({ hash }) => hash)).toEqual(all.map(sha256));
    await receiver!.close();
  });

  it('are delivered without a gap up to the failure of the group', async () => {
    const [root, receiver, lost] = await create([0, 1, 2]);
    const all = Array.from({ length: 50 }, (_, number) => content(number, 100));
    await root!.sendMany(all);
    const messages = receiver![Symbol.asyncIterator]();
    const first = (await messages.next()).value!;
    await rejection(lost!.close({ signal: AbortSignal.abort() }));
    await Promise.all([receiver!.closed, root!.closed]);
    expect(Buffer.compare(first.view, all[0]!)).toBe(0);
    let next = 1;
    const error = await rejection(
      (async () => {
        for (;;) {
          const { value } = await messages.next();
          expect(Buffer.compare(value!.view, all[next]!)).toBe(0);
          value!.release();
          next += 1;
        }
      })(),
    );
    expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 2 });
    expect(await rejection(root!.send(all[0]!))).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 2 });
    await rejection(Promise.all([root!.close(), receiver!.close()]));
  });

  it('are withdrawn by a signal while they wait for room', async () => {
    const [root, receiver] = await create([0, 1]);
    const first = root!.sendMany(Array.from({ length: 200 }, (_, number) => content(number, 8 * KIB)));
    const controller = new AbortController();
    const withdrawn = root!.send(Buffer.from('withdrawn'), { signal: controller.signal });
    const last = root!.send(Buffer.from('last'));
    controller.abort();
    expect(await rejection(withdrawn)).toMatchObject({ name: 'AbortError', code: 'ERR_RDMC_ABORTED' });
    const collecting = collect(receiver!);
    await Promise.all([first, last, root!.close(), receiver!.close()]);
    const messages = await collecting;
    expect(messages).toHaveLength(201);
    expect(messages.at(-1)!.hash).toBe(sha256(Buffer.from('last')));
  });

  it('refuse arrays with other values, and send nothing of them', async () => {
    const [root, receiver] = await create([0, 1], { sendBufferBytes: 10_000 });
    const good = Buffer.from('good');
    const detached = new Uint8Array(3);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    for (const [given, code] of [
      [[good, 'text'], 'ERR_RDMC_INVALID_MESSAGE'],
      [good, 'ERR_RDMC_INVALID_MESSAGE'],
      [[good, detached], 'ERR_RDMC_INVALID_MESSAGE'],
      [[good, new Uint8Array(10_001)], 'ERR_RDMC_MESSAGE_TOO_LARGE'],
    ] as const) {
      expect(await rejection(root!.sendMany(given as unknown as Uint8Array[]))).toMatchObject({ code });
    }
    expect(await rejection(receiver!.sendMany([good]))).toMatchObject({ code: 'ERR_RDMC_NOT_ROOT' });
    const collecting = collect(receiver!);
    await root!.sendMany([good]);
    await Promise.all([root!.close(), receiver!.close()]);
    expect(await rejection(root!.sendMany([good]))).toMatchObject({ code: 'ERR_RDMC_GROUP_CLOSED' });
    expect(await collecting).toHaveLength(1);
  });

  it('go as blocks in a group without rings, and rings must be the same at all members', async () => {
    const [root, receiver] = await create([0, 1], { smallMessageBytes: 0 });
    const collecting = collect(receiver!);
    await root!.sendMany([content(0, 5), content(1, 6)]);
    await Promise.all([root!.close(), receiver!.close()]);
    expect((await collecting).map(({ byteLength }) => byteLength)).toEqual([5, 6]);
    expect(root!.progress().blocksSent).toBe(2);
    const next = { id: group.id + 1_000, members: [0, 1] };
    const errors = await Promise.all(
      [100, 200].map((smallMessageBytes, member) =>
        rejection(nodes[member]!.createGroup({ ...next, smallMessageBytes })),
      ),
    );
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'ERR_RDMC_GROUP_MISMATCH', field: 'smallMessageBytes' });
    }
    expect(await rejection(nodes[0]!.createGroup({ ...next, smallMessageBytes: 65_537 }))).toMatchObject({
      code: 'ERR_RDMC_INVALID_OPTION',
    });
  });
});

it('small messages go over TCP as well', async () => {
  const nodes = await startCluster(2, { device: { device: 'soft', transport: 'tcp' } });
  const [root, receiver] = await createEverywhere(nodes, { id: 1, members: [0, 1] });
  const all = Array.from({ length: 3000 }, (_, number) => content(number, (number * 7) % 1500));
  const collecting = collect(receiver!);
  await Promise.all([root!.sendMany(all), root!.close(), receiver!.close()]);
  expect((await collecting).map(({ hash }) => hash)).toEqual(all.map(sha256));
  await stopCluster(nodes);
});
