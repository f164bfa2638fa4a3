import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Algorithm, createSchedule } from '../src/index.js';
import { judge, judgeParts, partners } from './checker.js';

const steps: [Algorithm, (n: number, k: number) => number][] = [
  ['sequential', (n, k) => k * (n - 1)],
  ['chain', (n, k) => k + n - 2],
  ['binomial-tree', (n, k) => k * Math.ceil(Math.log2(n))],
];

describe.each(steps)('%s', (algorithm, expected) => {
  it('keeps every rule, and gives each rank its own part, for all n to 40 and k to 9', () => {
    for (let nodes = 2; nodes <= 40; nodes += 1) {
      for (let blocks = 1; blocks <= 9; blocks += 1) {
        const schedule = createSchedule({ algorithm, nodes, blocks });
        expect(schedule.steps).toBe(expected(nodes, blocks));
        const faults = [...judge(schedule).faults, ...judgeParts(schedule)];
        if (faults.length > 0) expect.fail(`n=${nodes} k=${blocks}: ${faults.join('; ')}`);
      }
    }
  });

  it('keeps every rule for sampled n and k', () => {
    const sizes = fc.tuple(fc.integer({ min: 2, max: 600 }), fc.integer({ min: 1, max: 100 }));
    fc.assert(
      fc.property(sizes, ([nodes, blocks]) => {
        expect(judge(createSchedule({ algorithm, nodes, blocks })).faults).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });

  it('has neighbours that are exactly the partners of any message, and a k-independent first sender', () => {
    for (const nodes of [2, 3, 5, 8, 13, 32, 33]) {
      for (const blocks of [1, 2, 7]) {
        const schedule = createSchedule({ algorithm, nodes, blocks });
        const actual = partners(schedule);
        const { firstFrom } = judge(schedule);
        for (let rank = 0; rank < nodes; rank += 1) {
          const neighbours = schedule.neighbours(rank);
          expect(neighbours.sendsTo).toEqual(actual.sendsTo[rank]);
          expect(neighbours.receivesFrom).toEqual(actual.receivesFrom[rank]);
          expect(neighbours.firstFrom ?? -1).toBe(firstFrom[rank]);
        }
      }
    }
  });

  it('keeps every rule for 100,000 nodes', () => {
    expect(judge(createSchedule({ algorithm, nodes: 100_000, blocks: 3 })).faults).toEqual([]);
  });

  it('reads a part of 2^32 blocks at once', () => {
    const schedule = createSchedule({ algorithm, nodes: 100_000, blocks: 2 ** 32 });
    const first = schedule.receives(70_000).next().value!;
    expect(first.block).toBe(0);
    expect(schedule.sends(first.from, first.step).next().value).toEqual(first);
    const last = schedule.receives(70_000, first.step + 2 ** 32 - 1);
    expect([...last].map((t) => t.block)).toEqual([2 ** 32 - 1]);
  });
});

describe('the order of transfers', () => {
  it('sends the whole message to one after the other', () => {
    const schedule = createSchedule({ algorithm: 'sequential', nodes: 3, blocks: 2 });
    expect([...schedule.transfers()].map((t) => [t.step, t.from, t.to, t.block])).toEqual([
      [0, 0, 1, 0],
      [1, 0, 1, 1],
      [2, 0, 2, 0],
      [3, 0, 2, 1],
    ]);
  });

  it('relays each block down the chain', () => {
    const schedule = createSchedule({ algorithm: 'chain', nodes: 3, blocks: 2 });
    expect([...schedule.transfers()].map((t) => [t.step, t.from, t.to, t.block])).toEqual([
      [0, 0, 1, 0],
      [1, 0, 1, 1],
      [1, 1, 2, 0],
      [2, 1, 2, 1],
    ]);
  });

  it("draws the tree of the paper's figure 3", () => {
    const schedule = createSchedule({ algorithm: 'binomial-tree', nodes: 8, blocks: 1 });
    expect([...schedule.transfers()].map((t) => [t.step, t.from, t.to])).toEqual([
      [0, 0, 1],
      [1, 0, 2],
      [1, 1, 3],
      [2, 0, 4],
      [2, 1, 5],
      [2, 2, 6],
      [2, 3, 7],
    ]);
  });
});
