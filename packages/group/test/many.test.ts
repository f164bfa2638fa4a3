import { Buffer } from 'node:buffer';
import {
  type Group,
  type GroupError,
  type GroupOptions,
  type ReceivedMessage,
  SeriesReceiver,
  SeriesSender,
} from '@rdmc/group';
import { rejection, thrown, until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import {
  clusterForAll,
  createEverywhere,
  filledRegion,
  groupIdForEach,
  settleMessages,
} from './support/cluster.js';

const ALL = [0, 1, 2, 3];

function content(sender: number, number: number, byteLength = 12): Buffer {
  return Buffer.alloc(byteLength, `${sender}:${number},`);
}

/** Reads to the end: what came from each sender, in order; every byte and number is compared. */
async function readAll(group: Group, sizeOf = (_number: number) => 12): Promise<Map<number, number>> {
  const next = new Map<number, number>();
  for await (const batch of group.messages()) {
    for (const message of batch) {
      const number = next.get(message.senderId) ?? 0;
      next.set(message.senderId, number + 1);
      expect(message.number).toBe(number);
      expect(Buffer.compare(message.view, content(message.senderId, number, sizeOf(number)))).toBe(0);
      message.release();
    }
  }
  return next;
}

describe.each(['worker', 'application'] as const)(
  'a group of many senders, with its side in the %s',
  (thread) => {
    const nodes = clusterForAll(ALL.length, { thread });
    const group = groupIdForEach();

    function create(options: Partial<GroupOptions> = {}): Promise<Group[]> {
      return createEverywhere(nodes, { ...group, members: ALL, senders: 'all', ...options });
    }

    it('delivers the messages of each sender in its order to all others', async () => {
      const groups = await create();
      const count = 3000;
      const sizeOf = (number: number): number => (number % 100 === 7 ? 8192 : number % 60);
      const reading = groups.map((each) => readAll(each, sizeOf));
      await Promise.all(
        groups.map(async (each, sender) => {
          const all = Array.from({ length: count }, (_, number) => content(sender, number, sizeOf(number)));
          await each.sendMany(all.slice(0, count - 2));
          for (const bytes of all.slice(count - 2)) await each.send(bytes);
          await each.close();
        }),
      );
      for (const [receiver, read] of (await Promise.all(reading)).entries()) {
        const others = ALL.filter((id) => id !== receiver);
        expect([...read].sort()).toEqual(others.map((sender) => [sender, count]));
      }
      expect(groups[1]!.progress()).toMatchObject({ messagesSent: count, messagesReceived: 3 * count });
      expect(groups[0]!.transports).toEqual(['shm']);
    });

    it('has the senders of a list; the others only receive', async () => {
      const groups = await create({ senders: [3, 1] });
      expect(groups[0]!.senders).toEqual([1, 3]);
      expect(groups.map(({ isSender }) => isSender)).toEqual([false, true, false, true]);
      expect(await rejection(groups[0]!.send(Buffer.alloc(1)))).toMatchObject({
        code: 'ERR_RDMC_NOT_SENDER',
      });
      const reading = groups.map((each) => readAll(each));
      for (const sender of [1, 3]) await groups[sender]!.send(content(sender, 0));
      await Promise.all(groups.map((each) => each.close()));
      const read = (await Promise.all(reading)).map((counts) => [...counts.keys()].sort());
      expect(read).toEqual([[1, 3], [3], [1, 3], [1]]);
    });

    it('ends when all senders have closed, also where nobody reads', async () => {
      const groups = await create();
      const sends = groups.map((each, sender) =>
        each.sendMany(Array.from({ length: 200 }, (_, number) => content(sender, number, 8000))),
      );
      const closes = groups.slice(1).map((each) => each.close());
      await settleMessages(nodes);
      expect(groups[1]!.signal.aborted).toBe(false);
      await Promise.all([...sends, ...closes, groups[0]!.close()]);
      expect([...(await readAll(groups[2]!, () => 8000))].sort()).toEqual([0, 1, 3].map((id) => [id, 200]));
    });

    it('holds senders up while a receiver does not read, and loses nothing', async () => {
      const groups = await create({ senders: [0, 1] });
      const count = 300;
      let sent = 0;
      const sends = [0, 1].flatMap((sender) =>
        Array.from({ length: count }, async (_, number) => {
          await groups[sender]!.send(content(sender, number, 8192));
          sent += 1;
        }),
      );
      const reading = [0, 1, 2].map((id) => readAll(groups[id]!, () => 8192));
      await until(() => groups[2]!.progress().messagesReceived > 60);
      await settleMessages(nodes);
      // The rings of member 3 have room for 64 of them each.
      expect(sent).toBeLessThan(140);
      const late = readAll(groups[3]!, () => 8192);
      await Promise.all(sends);
      await Promise.all(groups.map((each) => each.close()));
      await Promise.all(reading);
      expect([...(await late)].sort()).toEqual([
        [0, count],
        [1, count],
      ]);
    });

    it('after a loss the error says what each receiver has of each sender', async () => {
      const groups = await create();
      const counts = [5, 6, 7, 0];
      const readers = groups.map((each) => each[Symbol.asyncIterator]());
      await Promise.all(
        counts.map((count, sender) =>
          groups[sender]!.sendMany(Array.from({ length: count }, (_, number) => content(sender, number))),
        ),
      );
      const total = counts.reduce((sum, count) => sum + count, 0);
      for (const [receiver, reader] of readers.entries()) {
        for (let left = total - counts[receiver]!; left > 0; left -= 1)
          (await reader.next()).value!.release();
      }
      await rejection(groups[3]!.close({ signal: AbortSignal.abort() }));
      for (const receiver of [0, 1, 2]) {
        const error = (await rejection(groups[receiver]!.close())) as unknown as GroupError;
        expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 3 });
        expect([...error.delivered!]).toEqual(ALL.map((id) => [id, total - counts[id]!]));
        const expected = ALL.map((id) => [
          id,
          ALL.filter((each) => each !== id).map((each) => [each, counts[each]]),
        ]);
        expect([...error.deliveredFrom!].map(([id, from]) => [id, [...from]])).toEqual(expected);
      }
    });

    it('takes regions, and refuses what is not small, streams and series', async () => {
      const groups = await create({ smallMessageBytes: 100 });
      const region = await filledRegion(nodes[0]!, 101, 5);
      const tooLarge = { code: 'ERR_RDMC_MESSAGE_TOO_LARGE' };
      expect(await rejection(groups[0]!.send(region))).toMatchObject(tooLarge);
      expect(await rejection(groups[0]!.send(Buffer.alloc(101)))).toMatchObject(tooLarge);
      expect(await rejection(groups[0]!.sendMany([Buffer.alloc(1), Buffer.alloc(101)]))).toMatchObject(
        tooLarge,
      );
      const many = { code: 'ERR_RDMC_MANY_SENDERS' };
      expect(thrown(() => groups[0]!.writable())).toMatchObject(many);
      expect(thrown(() => groups[0]!.readable())).toMatchObject(many);
      expect(thrown(() => new SeriesSender().use(groups[0]!))).toMatchObject(many);
      expect(await rejection(new SeriesReceiver().follow(groups[1]!))).toMatchObject(many);
      await groups[0]!.send({ region, offset: 1 });
      await groups[0]!.send(region, { byteLength: 0 });
      await Promise.all(groups.map((each) => each.close()));
      const read: ReceivedMessage[] = [];
      for await (const message of groups[1]!) read.push(message);
      expect(read.map(({ byteLength }) => byteLength)).toEqual([100, 0]);
      expect(Buffer.compare(read[0]!.view, region.view(1, 100))).toBe(0);
      for (const message of read) message.release();
      await region.close();
    });
  },
);

describe('the options of a group of many senders', () => {
  const nodes = clusterForAll(2);

  it.each<[string, object, RegExp]>([
    ['an unknown word', { senders: 'some' }, /senders must be/],
    ['an empty list', { senders: [] }, /senders must be/],
    ['a stranger', { senders: [0, 7] }, /senders must be/],
    ['a member twice', { senders: [1, 1] }, /senders must be/],
    ['no rings', { senders: 'all', smallMessageBytes: 0 }, /needs rings/],
    ['an option of blocks', { senders: 'all', blockBytes: 4096 }, /blockBytes is for groups of one sender/],
    ['a window of blocks', { senders: 'all', readyWindow: 2 }, /readyWindow is for groups of one sender/],
    ['an unknown order', { senders: 'all', order: 'causal' }, /order/],
    ['a total order of one sender', { order: 'total' }, /groups of many senders/],
    ['a total order that is not stable', { senders: 'all', order: 'total', delivery: 'received' }, /stable/],
  ])('%s is refused', async (_name, options, reason) => {
    const error = await rejection(nodes[0]!.createGroup({ id: 1, members: [0, 1], ...options }));
    expect(error).toMatchObject({ code: 'ERR_RDMC_INVALID_OPTION' });
    expect(error.message).toMatch(reason);
  });

  it('are the same at all members', async () => {
    const creating = [0, 1].map((id) =>
      rejection(nodes[id]!.createGroup({ id: 2, members: [0, 1], senders: id === 0 ? 'all' : [1] })),
    );
    for (const error of await Promise.all(creating)) {
      expect(error).toMatchObject({ code: 'ERR_RDMC_GROUP_MISMATCH', field: 'senders' });
    }
  });
});
