import { Buffer } from 'node:buffer';
import type { Group, GroupError, RdmcNode } from '@rdmc/group';
import { rejection, until } from '@rdmc/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MOST_UNREAD } from '../src/stable/read-ahead.js';
import {
  clusterForAll,
  createEverywhere,
  groupIdForEach,
  startCluster,
  stopCluster,
} from './support/cluster.js';

const ALL = [0, 1, 2, 3];
const TOTAL = { members: ALL, senders: 'all', order: 'total' } as const;

interface Read {
  /** What was delivered, as `sender:text`. */
  readonly items: string[];
  readonly error: GroupError | undefined;
}

/** Reads to the end. */
async function readAll(group: Group): Promise<Read> {
  const items: string[] = [];
  const reading = async (): Promise<void> => {
    for await (const batch of group.messages()) {
      for (const message of batch) {
        items.push(`${message.senderId}:${Buffer.from(message.view).toString().trim()}`);
        message.release();
      }
    }
  };
  const error = await reading().then(
    () => undefined,
    (reason: GroupError) => reason,
  );
  return { items, error };
}

/** The texts of each sender come in its order, from 0 without a gap. */
function expectFifo(items: readonly string[]): void {
  const next = new Map<string, number>();
  for (const item of items) {
    const [sender, number] = item.split(':') as [string, string];
    expect(Number(number)).toBe(next.get(sender) ?? 0);
    next.set(sender, Number(number) + 1);
  }
}

function send(group: Group, count: number, byteLength = 5): Promise<unknown> {
  const messages = Array.from({ length: count }, (_, number) =>
    Buffer.from(String(number).padEnd(byteLength)),
  );
  return group.sendMany(messages).catch(() => {});
}

describe.each(['worker', 'application'] as const)(
  'a total order, with the side of the group in the %s',
  (thread) => {
    const nodes = clusterForAll(ALL.length, { thread });
    const group = groupIdForEach();

    it('is the same at all members, the senders too, and has all messages', async () => {
      const groups = await createEverywhere(nodes, { ...group, ...TOTAL });
      const reading = groups.map(readAll);
      const counts = [1500, 40, 700, 0];
      await Promise.all(
        groups.map(async (each, sender) => {
          // More than the rings have room for.
          await send(each, counts[sender]!, 600);
          await each.close();
        }),
      );
      const [first, ...others] = await Promise.all(reading);
      expect(first!.error).toBeUndefined();
      expect(first!.items).toHaveLength(2240);
      expectFifo(first!.items);
      for (const { items } of others) expect(items).toEqual(first!.items);
    });

    it('gives messages positions, and an idle sender holds nobody up', async () => {
      const groups = await createEverywhere(nodes, { ...group, ...TOTAL });
      const readers = groups.map((each) => each[Symbol.asyncIterator]());
      for (let number = 0; number < 20; number += 1) {
        const sender = number % 10 === 9 ? 3 : 1;
        await groups[sender]!.send(Buffer.of(number));
        // Each message is delivered everywhere before the next one is sent: no other sender sends meanwhile.
        for (const reader of readers) {
          const message = (await reader.next()).value!;
          expect(message).toMatchObject({ number, senderId: sender, byteLength: 1 });
          expect(message.view[0]).toBe(number);
          message.release();
        }
      }
      await Promise.all(groups.map((each) => each.close()));
    });

    it('does not wait for an application that reads later, and that one gets everything', async () => {
      const groups = await createEverywhere(nodes, { ...group, ...TOTAL });
      const delivered: number[] = [];
      const read = async (id: number): Promise<void> => {
        for await (const message of groups[id]!) {
          delivered[id] = message.number + 1;
          message.release();
        }
      };
      const reading = [0, 1, 2].map(read);
      const sending = [0, 3].map((sender) => send(groups[sender]!, MOST_UNREAD));
      await until(() => [0, 1, 2].every((id) => delivered[id]! >= MOST_UNREAD));
      await Promise.all([...sending, ...groups.map((each) => each.close()), ...reading, read(3)]);
      expect(delivered).toEqual(ALL.map(() => 2 * MOST_UNREAD));
    });

    it('stable delivery without a total order keeps the order of each sender', async () => {
      const groups = await createEverywhere(nodes, {
        ...group,
        members: ALL,
        senders: [0, 2],
        delivery: 'stable',
      });
      const reading = groups.map(readAll);
      await Promise.all([0, 2].map((sender) => send(groups[sender]!, 800)));
      await Promise.all(groups.map((each) => each.close()));
      for (const [receiver, { items, error }] of (await Promise.all(reading)).entries()) {
        expect(error).toBeUndefined();
        expect(items).toHaveLength(receiver % 2 === 0 ? 800 : 1600);
        expectFifo(items);
      }
    });
  },
);

describe('one sender of sixteen', () => {
  const nodes = clusterForAll(16, { thread: 'application' });

  it('is not held up by the others, which send nothing', async () => {
    const members = nodes.map((_, id) => id);
    const groups = await createEverywhere(nodes, { id: 1, members, senders: 'all', order: 'total' });
    const readers = groups.map((each) => each[Symbol.asyncIterator]());
    await send(groups[7]!, 30);
    // At the same time: a member that does not read holds up the others after a while.
    await Promise.all(
      readers.map(async (reader) => {
        for (let number = 0; number < 30; number += 1) {
          const message = (await reader.next()).value!;
          expect(message).toMatchObject({ number, senderId: 7 });
          message.release();
        }
      }),
    );
    await Promise.all(groups.map((each) => each.close()));
  });
});

describe('after a failure', () => {
  let nodes: RdmcNode[];
  beforeEach(async () => {
    nodes = await startCluster(ALL.length);
  });
  afterEach(() => stopCluster(nodes));

  it.each(['total', 'sender'] as const)(
    'the survivors have delivered the same, in the order %s',
    async (order) => {
      const options = { id: 1, members: ALL, senders: 'all', order, delivery: 'stable' } as const;
      const groups = await createEverywhere(nodes, options);
      const reading = groups.map(readAll);
      const sending = groups.map(async (each) => {
        for (let round = 0; round < 200 && !each.signal.aborted; round += 1) await send(each, 20);
      });
      await until(() => groups[2]!.progress().messagesReceived > 500);
      await nodes[3]!.close();
      const survivors = [0, 1, 2];
      const errors = await Promise.all(survivors.map((id) => rejection(groups[id]!.close())));
      await Promise.all(sending);
      const reads = await Promise.all(reading);
      for (const id of survivors) {
        const { items } = reads[id]!;
        const error = errors[id] as unknown as GroupError;
        expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 3, excluded: [3] });
        expect([...error.delivered!.keys()]).toEqual(survivors);
        expect(error.delivered!.get(id)).toBe(items.length);
        for (const [sender, count] of error.deliveredFrom!.get(id)!) {
          expect(items.filter((item) => item.startsWith(`${sender}:`))).toHaveLength(count);
        }
        expect([...error.deliveredFrom!]).toEqual([...(errors[0] as unknown as GroupError).deliveredFrom!]);
        if (order === 'total') expect(items).toEqual(reads[0]!.items);
      }
      if (order === 'total')
        expect(reads[3]!.items).toEqual(reads[0]!.items.slice(0, reads[3]!.items.length));
    },
  );
});
