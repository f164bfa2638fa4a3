import type { AbortError } from '@rdmc/group';
import { PATIENT, rejection } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { clusterForAll, collect, createEverywhere, filledRegion, settleMessages } from './support/cluster.js';

describe('a group', () => {
  const nodes = clusterForAll(3);

  it('lets only the root send, and only the others receive', async () => {
    const groups = await createEverywhere(nodes, { id: 1, members: [1, 0] });
    const region = await nodes[0]!.allocate(10);
    expect(await rejection(groups[1]!.send(region))).toMatchObject({
      code: 'ERR_RDMC_NOT_ROOT',
      memberId: 1,
    });
    expect(() => groups[0]![Symbol.asyncIterator]()).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_ROOT_RECEIVES_NOTHING' }),
    );
    await Promise.all([...groups.map((group) => group.close()), region.close()]);
  });

  it('has one consumer at a time', async () => {
    const [root, receiver] = await createEverywhere(nodes, { id: 1, members: [0, 1] });
    const first = receiver![Symbol.asyncIterator]();
    expect(() => receiver![Symbol.asyncIterator]()).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_ITERATOR_TAKEN' }),
    );
    await first.return!();
    const collecting = collect(receiver!);
    const region = await filledRegion(nodes[0]!, 5, 1);
    await root!.send(region);
    await Promise.all([root!.close(), receiver!.close()]);
    expect(await collecting).toHaveLength(1);
    await region.close();
  });

  it('refuses regions that are closed, foreign, or too short', async () => {
    const [root, receiver] = await createEverywhere(nodes, { id: 1, members: [0, 1] });
    const foreign = await nodes[1]!.allocate(10);
    const own = await nodes[0]!.allocate(10);
    const code = 'ERR_RDMC_INVALID_REGION';
    expect(await rejection(root!.send(foreign))).toMatchObject({ code });
    expect(await rejection(root!.send({ region: own, offset: 5, byteLength: 6 }))).toMatchObject({ code });
    const none = await rejection(root!.send({} as never));
    expect(none).toMatchObject({ code, message: expect.stringContaining('node.allocate()') });
    expect((none as Error).message).not.toContain('register');
    await own.close();
    expect(await rejection(root!.send(own))).toMatchObject({ code });
    await Promise.all([root!.close(), receiver!.close(), foreign.close()]);
  });

  it('withdraws a queued message when its signal is aborted, and sends the others', async () => {
    let admit: (() => void) | undefined;
    const admitted = new Promise<void>((resolve) => {
      admit = resolve;
    });
    const options = { ...PATIENT, id: 1, members: [0, 1] };
    const [root, receiver] = await Promise.all([
      nodes[0]!.createGroup(options),
      nodes[1]!.createGroup({
        ...options,
        incoming: async (byteLength) => {
          await admitted;
          return nodes[1]!.allocate(byteLength);
        },
      }),
    ]);
    const collecting = collect(receiver);
    const regions = await Promise.all(
      Array.from({ length: 20 }, (_, i) => filledRegion(nodes[0]!, 100 + i, i)),
    );
    const controller = new AbortController();
    const sends = regions.map((region, i) =>
      root.send(region, i === 15 ? { signal: controller.signal } : {}),
    );
    controller.abort();
    expect(await rejection(sends[15]!)).toMatchObject({ code: 'ERR_RDMC_ABORTED' });
    admit!();
    await Promise.all(sends.filter((_, i) => i !== 15));
    await Promise.all([root.close(), receiver.close()]);
    const sizes = (await collecting).map(({ byteLength }) => byteLength);
    expect(sizes).toEqual(regions.map((_, i) => 100 + i).filter((size) => size !== 115));
    await Promise.all(regions.map((region) => region.close()));
  });

  it('resolves `settled` when the memory of a started, aborted message is free', async () => {
    let admit: (() => void) | undefined;
    const admitted = new Promise<void>((resolve) => {
      admit = resolve;
    });
    const options = { ...PATIENT, id: 1, members: [0, 1], blockBytes: 64 };
    const [root, receiver] = await Promise.all([
      nodes[0]!.createGroup(options),
      nodes[1]!.createGroup({
        ...options,
        incoming: async (byteLength) => {
          await admitted;
          return nodes[1]!.allocate(byteLength);
        },
      }),
    ]);
    const collecting = collect(receiver);
    const region = await filledRegion(nodes[0]!, 1000, 1);
    const controller = new AbortController();
    const sending = root.send(region, { signal: controller.signal });
    controller.abort();
    const error = (await rejection(sending)) as unknown as AbortError;
    expect(error).toMatchObject({ name: 'AbortError', code: 'ERR_RDMC_ABORTED', category: 'aborted' });
    admit!();
    await error.settled;
    expect(root.progress().messagesSent).toBe(1);
    await Promise.all([root.close(), receiver.close()]);
    expect(await collecting).toHaveLength(1);
    await region.close();
  });

  it('delays the root while the receiver does not read, and delivers all messages in the end', async () => {
    const count = 150;
    const unread = 64;
    const [root, receiver] = await createEverywhere(nodes, { id: 1, members: [0, 1] });
    const [otherRoot, otherReceiver] = await createEverywhere(nodes, { id: 2, members: [0, 1] });
    const region = await filledRegion(nodes[0]!, 10, 1);
    const sends = Array.from({ length: count }, () => root!.send(region));
    while (receiver!.progress().messagesReceived < unread)
      await new Promise((resolve) => setImmediate(resolve));
    // Meanwhile the same workers send the same number of messages of another group, one after the other.
    const others = otherReceiver![Symbol.asyncIterator]();
    for (let i = 0; i < count; i += 1) {
      await otherRoot!.send(region);
      (await others.next()).value!.release();
    }
    expect(receiver!.progress().messagesReceived).toBe(unread);
    const messages = receiver![Symbol.asyncIterator]();
    for (let number = 0; number < count; number += 1) {
      const { value } = await messages.next();
      expect(value!.number).toBe(number);
      value!.release();
    }
    await Promise.all(sends);
    const groups = [root!, receiver!, otherRoot!, otherReceiver!];
    await Promise.all(groups.map((group) => group.close()));
    expect(await messages.next()).toMatchObject({ done: true });
    await region.close();
  });

  it('closes before the receiver has read, and keeps the unread messages', async () => {
    const [root, receiver] = await createEverywhere(nodes, { id: 1, members: [0, 1] });
    const region = await filledRegion(nodes[0]!, 10, 1);
    const sends = Array.from({ length: 100 }, () => root!.send(region));
    await Promise.all([root!.close(), receiver!.close(), ...sends]);
    expect(await collect(receiver!)).toHaveLength(100);
    expect(await rejection(root!.send(region))).toMatchObject({ code: 'ERR_RDMC_GROUP_CLOSED' });
    await region.close();
  });

  it('does not close before every member has all messages', async () => {
    let admit: (() => void) | undefined;
    const admitted = new Promise<void>((resolve) => {
      admit = resolve;
    });
    const options = { ...PATIENT, id: 1, members: [0, 1, 2] };
    const groups = await Promise.all(
      nodes.map((node, id) =>
        node.createGroup({
          ...options,
          incoming: async (byteLength) => {
            if (id === 2) await admitted;
            return node.allocate(byteLength);
          },
        }),
      ),
    );
    const region = await filledRegion(nodes[0]!, 10, 1);
    const sent = groups[0]!.send(region);
    let closed = 0;
    const closes = groups.map((group) =>
      group.close().then(() => {
        closed += 1;
      }),
    );
    await sent;
    await settleMessages(nodes);
    expect(closed).toBe(0);
    admit!();
    await Promise.all(closes);
    expect(groups[2]!.progress().messagesReceived).toBe(1);
    await region.close();
  });

  it('rejects close with ERR_RDMC_CLOSE_UNKNOWN if the wait ends first', async () => {
    const groups = await createEverywhere(nodes, { id: 3, members: [0, 1, 2] });
    const error = await rejection(groups[1]!.close({ timeoutMs: 50 }));
    expect(error).toMatchObject({ code: 'ERR_RDMC_CLOSE_UNKNOWN', missing: [0, 1, 2] });
    expect(await rejection(groups[1]!.close())).toBe(error);
    const others = await Promise.all([groups[0]!, groups[2]!].map((group) => rejection(group.close())));
    for (const other of others) expect(other).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 1 });
    await settleMessages(nodes);
    const again = await createEverywhere(nodes, { id: 3, members: [0, 1, 2] });
    await Promise.all(again.map((group) => group.close()));
  });

  it('reports progress from shared memory until the end', async () => {
    const [root, receiver] = await createEverywhere(nodes, { id: 4, members: [0, 1], blockBytes: 1000 });
    const seen: number[] = [];
    receiver!.onProgress(({ bytesReceived }) => seen.push(bytesReceived), { intervalMs: 1 });
    const region = await filledRegion(nodes[0]!, 100_000, 1);
    await root!.send(region);
    await Promise.all([root!.close(), receiver!.close()]);
    expect(seen.at(-1)).toBe(100_000);
    expect([...seen].sort((a, b) => a - b)).toEqual(seen);
    expect(root!.progress()).toMatchObject({ messagesSent: 1, blocksSent: 100, bytesSent: 100_000 });
    expect(receiver!.signal.aborted).toBe(true);
    await region.close();
  });

  it('refuses unknown and wrong options', async () => {
    const [root, receiver] = await createEverywhere(nodes, { id: 5, members: [0, 1] });
    const region = await nodes[0]!.allocate(1);
    expect(await rejection(root!.send(region, { sginal: 1 } as never))).toMatchObject({
      code: 'ERR_RDMC_UNKNOWN_OPTION',
    });
    expect(await rejection(root!.close({ timeoutMs: -1 }))).toMatchObject({
      code: 'ERR_RDMC_INVALID_OPTION',
    });
    expect(await rejection(root!.close({ timeout: 1 } as never))).toMatchObject({
      code: 'ERR_RDMC_UNKNOWN_OPTION',
    });
    await Promise.all([root!.close(), receiver!.close(), region.close()]);
  });
});
