import { Buffer } from 'node:buffer';
import type { Group, GroupError, RdmcNode } from '@rdmc/group';
import { rejection } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { clusterForEach, createEverywhere } from './support/cluster.js';

const MEMBERS = [0, 1, 2, 3];
const nodes = clusterForEach(MEMBERS.length);

/** Reads on to the end: how many messages the application gets in all, from message `read` on, without a gap. */
async function readRest(group: Group, read: number): Promise<number> {
  let count = read;
  const reading = async (): Promise<void> => {
    for await (const message of group) {
      expect(message.number).toBe(count);
      count += 1;
      message.release();
    }
  };
  await rejection(reading());
  return count;
}

/** Reads that many messages, and waits no further. */
async function readSome(group: Group, count: number): Promise<void> {
  if (count === 0) return;
  let read = 0;
  for await (const message of group) {
    message.release();
    read += 1;
    if (read === count) return;
  }
}

const ends: readonly (readonly [string, number, (group: Group, node: RdmcNode) => Promise<unknown>])[] = [
  ['a receiver closes its node', 3, (_group, node) => node.close()],
  ['the root closes its node', 0, (_group, node) => node.close()],
  ['a receiver does not wait for the end', 3, (group) => group.close({ signal: AbortSignal.abort() })],
  [
    'a stream of the root is destroyed',
    0,
    async (group) =>
      void group
        .writable()
        .on('error', () => {})
        .destroy(),
  ],
];

it.each(ends)('the counts are what each member can read, where %s', async (_name, culprit, end) => {
  const groups = await createEverywhere(nodes, { id: 1, members: MEMBERS });
  const root = groups[0]!;
  // Small messages, and long ones between them. Some are in rings, some under way, some not sent.
  const sends = Array.from({ length: 300 }, (_, number) =>
    root.send(Buffer.alloc(number % 11 === 7 ? 20_000 : 3000)).catch(() => {}),
  );
  // Member 1 reads, member 2 begins to, member 3 does not.
  await Promise.all([readSome(groups[1]!, 60), readSome(groups[2]!, 3)]);
  await rejection(end(groups[culprit]!, nodes[culprit]!).then(() => groups[culprit]!.close()));
  await Promise.all(groups.map((group) => group.closed));
  const read = new Map<number, number>();
  for (const [member, before] of [
    [1, 60],
    [2, 3],
    [3, 0],
  ] as const) {
    read.set(member, await readRest(groups[member]!, before));
  }
  for (const member of MEMBERS) {
    const error = (await rejection(groups[member]!.close())) as unknown as GroupError;
    const { delivered } = error;
    if (member === culprit) {
      // It did not wait for the others.
      for (const [of, count] of delivered ?? []) expect(count).toBe(read.get(of));
    } else {
      expect([...delivered!.keys()]).toEqual([1, 2, 3]);
      for (const [of, count] of read) expect(delivered!.get(of)).toBe(count);
    }
  }
  await Promise.all(sends);
});
