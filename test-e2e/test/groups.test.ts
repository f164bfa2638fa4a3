import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, endClusters } from '../src/cluster.js';
import type { Closed, Outcome, Reached } from '../src/member-types.js';
import { expectOrderedAndExact } from '../src/proof.js';

const MIB = 1024 * 1024;

/** One cluster for all: each test has groups of its own, and closes them. */
let cluster: Cluster;
/** The first test has the groups before it. */
let nextGroup = 6;
beforeAll(async () => {
  cluster = await Cluster.start(4);
});
afterAll(async () => {
  await cluster?.leave();
  await endClusters();
});

interface Plan {
  readonly id: number;
  /** The root first. */
  readonly ids: readonly number[];
  readonly options?: object;
}

async function expectAllDelivered(cluster: Cluster, { id, ids }: Plan, count: number): Promise<void> {
  for (const receiver of ids.slice(1).map((each) => cluster.at(each))) {
    await receiver.event('end', ({ group, error }) => group === id && error === null);
    expect(expectOrderedAndExact(receiver, id)).toBe(count);
  }
}

describe('many groups in the same processes', () => {
  it('every member is the root of some groups, their members overlap, and 20 sends are queued in each at once', async () => {
    const plans: Plan[] = [
      { id: 0, ids: [0, 1, 2, 3] },
      { id: 1, ids: [1, 0, 3, 2], options: { algorithm: 'chain' } },
      { id: 2, ids: [2, 3, 1, 0], options: { algorithm: 'binomial-tree' } },
      { id: 3, ids: [3, 2, 1, 0], options: { algorithm: 'sequential' } },
      // The same root once more, over fewer members.
      { id: 4, ids: [0, 2, 3] },
      { id: 5, ids: [1, 3], options: { blockBytes: 10_000 } },
    ];
    const content = ({ id }: Plan) => ({ seed: 1000 * id, variants: 4 });
    await Promise.all(
      plans.map((plan) => cluster.createGroup(plan.id, plan.ids, { expect: content(plan), ...plan.options })),
    );
    const size = { byteLength: 300_001, count: 20 };
    const sends = await Promise.all(
      plans.map((plan) =>
        cluster.at(plan.ids[0]!).call<Outcome[]>('send', { group: plan.id, ...content(plan), ...size }),
      ),
    );
    for (const outcomes of sends) {
      expect(outcomes.map(({ error }) => error)).toEqual(Array.from({ length: 20 }, () => null));
      const ends = outcomes.map(({ at }) => at);
      expect(ends, 'sends complete in the order of the calls').toEqual([...ends].sort((a, b) => a - b));
    }
    const closes = plans.flatMap(({ id, ids }) =>
      ids.map((member) => cluster.at(member).call<Closed>('close', { group: id })),
    );
    for (const { error } of await Promise.all(closes)) expect(error).toBeNull();
    for (const plan of plans) await expectAllDelivered(cluster, plan, 20);
  });

  it.each([
    ['the same block size', MIB / 4, MIB / 4, 0.5],
    ['blocks of one sixteenth', MIB, MIB / 16, 0.2],
  ])('share one processor fairly, by bytes: %s', async (_what, first, second, leastShare) => {
    const ids = [0, 1, 2];
    const sizes = [first, second];
    const content = { seed: 50, variants: 1 };
    const groups = sizes.map(() => nextGroup++);
    for (const [index, blockBytes] of sizes.entries()) {
      await cluster.createGroup(groups[index]!, ids, { blockBytes, expect: content });
    }
    const root = cluster.at(0);
    const stream = { ...content, byteLength: 4 * MIB, count: 48 };
    // Both begin at once: the lead of one before the other begins is not a matter of fairness.
    const sends = root.call<Outcome[][]>('sendAll', {
      sends: groups.map((group) => ({ group, ...stream })),
    });
    // Whichever is first at two thirds of its bytes: the other is not far behind.
    const least = 32 * stream.byteLength;
    const receiver = cluster.at(2);
    const winner = await Promise.race(
      groups.map(async (group, index) => {
        await receiver.call<Reached>('reached', { group, field: 'bytesReceived', least });
        return index;
      }),
    );
    const shares = await Promise.all(
      groups.map((group) => receiver.call<{ bytesReceived: number }>('progress', { group })),
    );
    const [ahead, behind] = [shares[winner]!, shares[1 - winner]!];
    expect(
      behind.bytesReceived / ahead.bytesReceived,
      `group ${1 - winner} of blocks ${sizes}`,
    ).toBeGreaterThan(leastShare);
    for (const { error } of (await sends).flat()) expect(error).toBeNull();
    for (const group of groups) {
      const closed = await cluster.all(
        (member) => member.call<Closed>('close', { group }),
        cluster.except(3),
      );
      for (const { error } of closed) expect(error).toBeNull();
      await expectAllDelivered(cluster, { id: group, ids }, stream.count);
    }
  });
});
