import { describe, expect, it } from 'vitest';
import {
  averageSlack,
  completionTime,
  createSchedule,
  expectedSlack,
  rackTraffic,
  type Schedule,
  slowLinkBound,
  slowLinkFactor,
} from '../src/index.js';

function pipeline(nodes: number, blocks: number): Schedule {
  return createSchedule({ algorithm: 'binomial-pipeline', nodes, blocks });
}

describe('slack (paper section 4.5)', () => {
  it('is exactly 2(1 - (l - 1)/(n - 2)) in every steady step, for powers of two from 4', () => {
    for (let l = 2; l <= 8; l += 1) {
      const [n, k] = [2 ** l, 2 * l + 3];
      for (let step = l; step <= l + k - 2; step += 1) {
        expect(averageSlack(pipeline(n, k), step), `n=${n} step=${step}`).toBeCloseTo(
          2 - (2 * (l - 1)) / (n - 2),
          12,
        );
      }
    }
  });

  it('has the same formula as a function', () => {
    expect([4, 8, 16, 1024].map(expectedSlack)).toEqual([
      1,
      2 * (1 - 2 / 6),
      2 * (1 - 3 / 14),
      2 * (1 - 9 / 1022),
    ]);
  });

  it('is at least 1 for any n, and 1 all along a chain', () => {
    for (let n = 3; n <= 40; n += 1) {
      const schedule = pipeline(n, 12);
      for (let step = 1; step < schedule.steps; step += 1) {
        expect(averageSlack(schedule, step) ?? 1, `n=${n} step=${step}`).toBeGreaterThanOrEqual(1);
      }
    }
    const chain = createSchedule({ algorithm: 'chain', nodes: 6, blocks: 9 });
    for (let step = 1; step < chain.steps; step += 1) expect(averageSlack(chain, step)).toBe(1);
  });

  it('is undefined if only the root sends', () => {
    expect(averageSlack(pipeline(8, 4), 0)).toBeUndefined();
  });
});

describe('a slow link (paper section 4.5)', () => {
  it('takes exactly the number of steps when no link is slow', () => {
    for (const [n, k] of [
      [2, 5],
      [7, 9],
      [8, 20],
      [64, 33],
      [100, 12],
    ] as const) {
      expect(completionTime(pipeline(n, k))).toBe(pipeline(n, k).steps);
    }
  });

  it.each([4, 8, 16, 32])(
    "keeps at least lT'/(T + (l - 1)T') with any one of the links among %i members slow",
    (n) => {
      const l = Math.log2(n);
      const schedule = pipeline(n, 8 * l + 1); // l + k − 1 steps: 9 whole turns of l
      for (const ratio of [0.9, 0.5, 0.25, 0.1]) {
        for (let a = 0; a < n; a += 1) {
          for (let b = a ^ 1, bit = 1; bit < n; bit *= 2, b = a ^ bit) {
            const factor = slowLinkFactor(schedule, { a, b, ratio });
            expect(factor, `${a}-${b} at ${ratio}`).toBeGreaterThanOrEqual(slowLinkBound(n, ratio) - 1e-9);
          }
        }
      }
    },
  );

  it('reaches the bound on some link of a long message', () => {
    const schedule = pipeline(8, 600);
    const factors = [1, 2, 4].map((b) => slowLinkFactor(schedule, { a: 0, b, ratio: 0.5 }));
    expect(Math.min(...factors)).toBeCloseTo(slowLinkBound(8, 0.5), 2);
  });

  it('is 6/7 for n = 64 and half the bandwidth', () => {
    expect(slowLinkBound(64, 0.5)).toBeCloseTo(6 / 7, 12);
  });

  it('is slow both ways', () => {
    const chain = createSchedule({ algorithm: 'chain', nodes: 8, blocks: 2000 });
    expect(slowLinkFactor(chain, { a: 4, b: 3, ratio: 0.5 })).toBeCloseTo(0.5, 2);
  });

  it('costs a chain the whole ratio', () => {
    const chain = createSchedule({ algorithm: 'chain', nodes: 8, blocks: 2000 });
    expect(slowLinkFactor(chain, { a: 3, b: 4, ratio: 0.5 })).toBeCloseTo(0.5, 2);
    expect(slowLinkFactor(pipeline(8, 2000), { a: 3, b: 1, ratio: 0.5 })).toBeGreaterThan(0.74);
  });

  it('delays the whole message by at most one delayed block', () => {
    const schedule = pipeline(16, 20);
    for (const late of [...schedule.transfers()].filter((_, i) => i % 13 === 0)) {
      let seen = 0;
      const index = [...schedule.transfers()].filter(
        (t) => t.from === late.from && t.to === late.to && t.step < late.step,
      ).length;
      const time = completionTime(schedule, (from, to) => {
        if (from !== late.from || to !== late.to) return 1;
        seen += 1;
        return seen === index + 1 ? 1.75 : 1;
      });
      expect(time).toBeLessThanOrEqual(schedule.steps + 0.75);
    }
  });
});

describe('completion time', () => {
  it('makes a member send one block at a time', () => {
    for (const algorithm of ['sequential', 'chain', 'binomial-tree'] as const) {
      const schedule = createSchedule({ algorithm, nodes: 6, blocks: 4 });
      expect(completionTime(schedule)).toBe(schedule.steps);
    }
  });

  it('makes a member receive one block at a time', () => {
    const transfers = [
      { step: 0, from: 0, to: 1, block: 0 },
      { step: 1, from: 0, to: 2, block: 1 },
      { step: 2, from: 1, to: 2, block: 0 },
    ];
    const schedule: Schedule = {
      ...pipeline(3, 2),
      nodes: 3,
      blocks: 2,
      transfers: () => transfers.values(),
    };
    expect(completionTime(schedule, (from, to) => (from === 0 && to === 2 ? 5 : 1))).toBe(1 + 5 + 1);
  });
});

describe('rack traffic', () => {
  it('counts the blocks that cross an uplink, for any algorithm and any racks', () => {
    const chain = createSchedule({ algorithm: 'chain', nodes: 4, blocks: 3 });
    expect(rackTraffic(chain, ['x', 'x', 'y', 'x'])).toEqual([
      { rack: 'x', entering: 3, leaving: 3 },
      { rack: 'y', entering: 3, leaving: 3 },
    ]);
  });
});
