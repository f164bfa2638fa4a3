import {
  type Group,
  type GroupError,
  type GroupOptions,
  type SeriesItem,
  SeriesReceiver,
  SeriesSender,
} from '@rdmc/group';
import { PATIENT, rejection, until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { clusterForEach } from './support/cluster.js';

const nodes = clusterForEach(3);

type Seen = number | [number, number];

/** Collects items: numbers of messages, each with its number as content, and gaps. */
async function collect(series: AsyncIterable<SeriesItem>, seen: Seen[]): Promise<void> {
  for await (const item of series) {
    if (item.type === 'gap') seen.push([item.from, item.to]);
    else {
      expect([...item.message.view]).toEqual([...bytes(item.number)]);
      seen.push(item.number);
      item.message.release();
    }
  }
}

function create(options: GroupOptions): Promise<Group[]> {
  return Promise.all(options.members.map((id) => nodes[id]!.createGroup({ ...PATIENT, ...options })));
}

/** Four blocks, where a block has one byte. */
const bytes = (number: number): Uint8Array => new Uint8Array(4).fill(number);

describe('a series', () => {
  it('goes on over changes of membership: joiners begin with a message, nothing comes twice', async () => {
    const sender = new SeriesSender();
    const receivers = [new SeriesReceiver(), new SeriesReceiver()];
    const seen: Seen[][] = [[], []];
    const reading = receivers.map((series, index) => collect(series, seen[index]!));
    // Sent before there is a group.
    const numbers = [sender.send(bytes(0)), sender.send(bytes(1))];

    const first = await create({ id: 1, members: [0, 1], first: sender.first });
    sender.use(first[0]!);
    const followed = receivers[0]!.follow(first[1]!);
    await Promise.all(numbers);
    const closing = first.map((group) => group.close());
    // While the group closes, a message waits for the next one.
    const late = sender.send(bytes(2));
    await Promise.all([...closing, followed]);

    const second = await create({ id: 1, members: [0, 1, 2], first: sender.first });
    expect(second.map((group) => group.first)).toEqual([2, 2, 2]);
    sender.use(second[0]!);
    const both = receivers.map((series, index) => series.follow(second[index + 1]!));
    expect(await Promise.all([...numbers, late, sender.send(bytes(3))])).toEqual([0, 1, 2, 3]);
    await Promise.all(second.map((group) => group.close()));
    await Promise.all(both);
    for (const series of receivers) series.end();
    await Promise.all(reading);
    expect(seen).toEqual([
      [0, 1, 2, 3],
      [2, 3],
    ]);
    expect(receivers.map(({ next }) => next)).toEqual([4, 4]);
  });

  it('after a failure sends again what is not settled; receivers skip what they have, and are told of gaps', async () => {
    const sender = new SeriesSender();
    const ahead = new SeriesReceiver();
    const behind = new SeriesReceiver();
    const seen: [Seen[], Seen[]] = [[], []];
    const reading = [collect(ahead, seen[0]), collect(behind, seen[1])];
    // Member 2 gives no memory for its second message.
    let given = 0;
    // Small messages would go without blocks.
    const small = { blockBytes: 1, smallMessageBytes: 0, algorithm: 'sequential' as const };
    const options = { ...PATIENT, id: 1, members: [0, 1, 2], first: 0, ...small };
    const groups = await Promise.all(
      options.members.map((id) =>
        nodes[id]!.createGroup({
          ...options,
          incoming: (byteLength) => {
            if (id === 2) given += 1;
            return id === 2 && given === 2 ? new Promise<never>(() => {}) : nodes[id]!.allocate(byteLength);
          },
        }),
      ),
    );
    sender.use(groups[0]!);
    const followed = [ahead.follow(groups[1]!), behind.follow(groups[2]!)].map(rejection);
    expect(await sender.send(bytes(0))).toBe(0);
    await until(() => seen.every((each) => each.length === 1));
    const waiting = sender.send(bytes(1));
    await until(() => given === 2);
    // A failure that no receiver has caused.
    const stream = groups[0]!.writable();
    stream.on('error', () => {});
    stream.destroy(new Error('a test of it'));
    for (const error of await Promise.all(followed)) expect(error.code).toBe('ERR_RDMC_MEMBER_LOST');
    await groups[0]!.closed;
    expect(sender.first).toBe(1);
    const again = await create({ id: 1, members: [0, 1, 2], first: sender.first });
    const last = [ahead.follow(again[1]!), behind.follow(again[2]!)];
    sender.use(again[0]!);
    expect(await waiting).toBe(1);
    await Promise.all(again.map((group) => group.close()));
    await Promise.all(last);
    for (const series of [ahead, behind]) series.end();
    await Promise.all(reading);
    expect(seen).toEqual([
      [0, 1],
      [0, 1],
    ]);
  });

  it('names the numbers that a receiver does not get, and those that were trimmed', async () => {
    const series = new SeriesReceiver();
    const run = async (first: number, count: number): Promise<void> => {
      const [root, receiver] = await create({ id: 1, members: [0, 1], first });
      const followed = series.follow(receiver!);
      for (let number = first; number < first + count; number += 1) await root!.send(bytes(number));
      await Promise.all([root!.close(), receiver!.close()]);
      void followed;
    };
    await run(0, 2);
    // The sender goes on with a later message, then with an earlier one.
    await run(5, 1);
    await run(4, 4);
    const items = series[Symbol.asyncIterator]();
    const seen: Seen[] = [];
    const one = async (): Promise<void> => {
      const item = (await items.next()).value as SeriesItem;
      seen.push(item.type === 'gap' ? [item.from, item.to] : item.number);
    };
    for (let count = 0; count < 5; count += 1) await one();
    expect(seen).toEqual([0, 1, [2, 4], 5, 6]);
    series.wedge();
    const next = one();
    series.trim(7);
    await run(9, 1);
    await next;
    expect(seen.at(-1)).toEqual([7, 8]);
    await one();
    expect(seen.at(-1)).toBe(9);
  });

  it('refuses a wrong use', async () => {
    const sender = new SeriesSender();
    const series = new SeriesReceiver();
    const [root, receiver] = await create({ id: 1, members: [0, 1], first: 7 });
    const code = (act: () => void): string | undefined => {
      try {
        act();
      } catch (error) {
        return (error as GroupError).code;
      }
      return undefined;
    };
    expect(code(() => sender.use(root!))).toBe('ERR_RDMC_GROUP_MISMATCH');
    expect(code(() => sender.use(receiver!))).toBe('ERR_RDMC_NOT_ROOT');
    expect((await rejection(series.follow(root!))).code).toBe('ERR_RDMC_ROOT_RECEIVES_NOTHING');
    series.end();
    expect((await rejection(series.follow(receiver!))).code).toBe('ERR_RDMC_GROUP_CLOSED');
    const different = [0, 1].map((id) => nodes[id]!.createGroup({ id: 2, members: [0, 1], first: id }));
    for (const error of await Promise.all(different.map(rejection))) {
      expect(error).toMatchObject({ code: 'ERR_RDMC_GROUP_MISMATCH', field: 'first' });
    }
    // A message that is refused has no number; the others are not affected.
    const good = new SeriesSender();
    const [other, end] = await create({ id: 3, members: [0, 1], sendBufferBytes: 8 });
    good.use(other!);
    expect(code(() => good.use(other!))).toBe('ERR_RDMC_GROUP_EXISTS');
    const results = [bytes(0), new Uint8Array(9), bytes(1)].map((each) => good.send(each));
    expect((await rejection(results[1]!)).code).toBe('ERR_RDMC_MESSAGE_TOO_LARGE');
    expect(await Promise.all([results[0], results[2]])).toEqual([0, 1]);
    await Promise.all([other, end, root, receiver].map((group) => group!.close()));
  });
});
