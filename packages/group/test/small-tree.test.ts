import { Buffer } from 'node:buffer';
import type { Group, ReceivedMessage } from '@rdmc/group';
import { rejection, until } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { childrenOf, parentOf, relayCount } from '../src/small/tree.js';
import {
  clusterForAll,
  collect,
  createEverywhere,
  filledRegion,
  groupIdForEach,
  settleMessages,
  sha256,
} from './support/cluster.js';

describe('the tree of small messages', () => {
  it('has each receiver once, behind its parent, in at most two levels, and nobody has many children', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 200 }), (members) => {
        const ranks = Array.from({ length: members }, (_, rank) => rank);
        const lists = ranks.map((rank) => childrenOf(rank, members));
        expect(lists.flat().sort((a, b) => a - b)).toEqual(ranks.slice(1));
        for (const rank of ranks.slice(1)) {
          const parent = parentOf(rank, members);
          expect(lists[parent]).toContain(rank);
          expect(parent === 0 || parentOf(parent, members) === 0).toBe(true);
        }
        const most = Math.max(...lists.map(({ length }) => length));
        expect(most).toBeLessThanOrEqual(members <= 16 ? 15 : Math.ceil(Math.sqrt(members)));
      }),
      { numRuns: 30 },
    );
  });

  it('is flat up to 16 members', () => {
    expect([2, 16, 17, 32, 1024].map(relayCount)).toEqual([0, 0, 4, 6, 32]);
    expect(childrenOf(0, 16)).toHaveLength(15);
    expect(childrenOf(1, 17)).toEqual([5, 9, 13]);
  });
});

const MEMBERS = Array.from({ length: 17 }, (_, id) => id);
/** Of rank 1, in a group of 17. */
const CHILD_OF_FIRST = 5;

describe('small messages in a group of 17 members', () => {
  const nodes = clusterForAll(MEMBERS.length, { thread: 'application' });
  const group = groupIdForEach();

  it('come in one order with long ones at all members, whose application reads late or never', async () => {
    const groups = await createEverywhere(nodes, { ...group, members: MEMBERS });
    const [root, ...receivers] = groups;
    const region = await filledRegion(nodes[0]!, 3000, 2);
    const contents = Array.from({ length: 300 }, (_, number) => Buffer.alloc((number * 977) % 8193, number));
    const collecting = receivers.slice(1).map(collect);
    const sends = contents.map((bytes, i) => (i % 50 === 49 ? root!.send(region) : root!.send(bytes)));
    await Promise.all([...sends, ...groups.map((group) => group.close())]);
    const expected = contents.map((bytes, i) => sha256(i % 50 === 49 ? region.view(0, 3000) : bytes));
    // A relay reads nothing before the group has closed.
    for (const messages of await Promise.all([...collecting, collect(receivers[0]!)])) {
      expect(messages.map(({ hash }) => hash)).toEqual(expected);
    }
    expect(root!.progress()).toMatchObject({ messagesSent: 300 });
    expect(receivers[0]!.progress()).toMatchObject({ messagesSent: 0 });
    await region.close();
  });

  it('hold the sender up while the child of a relay does not read', async () => {
    const groups = await createEverywhere(nodes, { ...group, members: MEMBERS });
    const [root, ...receivers] = groups;
    const slow = groups[CHILD_OF_FIRST]!;
    const collecting = receivers.filter((each) => each !== slow).map(collect);
    const count = 350;
    let sent = 0;
    const sending = Array.from({ length: count }, async (_, number) => {
      await root!.send(Buffer.alloc(8192, number));
      sent += 1;
    });
    await until(() => receivers[0]!.progress().messagesReceived > 50);
    await settleMessages(nodes);
    // The rings have room for 255 and 7: what the slow member has not read stays in those of its relay, and of the root.
    expect(sent).toBeLessThan(270);
    const messages: ReceivedMessage[] = [];
    for await (const message of slow) {
      expect(message.view.every((byte) => byte === message.number % 256)).toBe(true);
      if (messages.push(message) === count) break;
    }
    for (const message of messages) message.release();
    await Promise.all([...sending, ...groups.map((group) => group.close())]);
    for (const received of await Promise.all(collecting)) expect(received).toHaveLength(count);
  });

  it('end at all members if a relay is lost, and nobody has a gap', async () => {
    const groups = await createEverywhere(nodes, { ...group, members: MEMBERS });
    const reading = groups.slice(2).map(readAll);
    const sendForEver = async (): Promise<never> => {
      for (let i = 0; ; i += 1) await groups[0]!.send(Buffer.of(i & 0xff));
    };
    const sending = rejection(sendForEver());
    const relay = groups[1]![Symbol.asyncIterator]();
    (await relay.next()).value!.release();
    await nodes[1]!.close();
    expect(await sending).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 1 });
    for (const { numbers, error } of await Promise.all(reading)) {
      expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 1 });
      expect(numbers).toEqual(numbers.map((_, number) => number));
    }
  });
});

async function readAll(group: Group): Promise<{ numbers: number[]; error: unknown }> {
  const numbers: number[] = [];
  const error = await rejection(
    (async () => {
      for await (const message of group) {
        numbers.push(message.number);
        message.release();
      }
    })(),
  );
  return { numbers, error };
}
