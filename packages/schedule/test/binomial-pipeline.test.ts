import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSchedule, type Schedule } from '../src/index.js';
import { judge, judgeParts, partners } from './checker.js';

/** RDMC_TEST_LONG=1: all sizes, and more samples. */
const long = process.env.RDMC_TEST_LONG === '1';
/** Beyond a power of two, where the last dimension is not full. */
const MOST = long ? 130 : 70;

function pipeline(nodes: number, blocks: number): Schedule {
  return createSchedule({ algorithm: 'binomial-pipeline', nodes, blocks });
}

function ceilLog2(n: number): number {
  let l = 0;
  while (2 ** l < n) l += 1;
  return l;
}

/** A second implementation of the corrected table of section 4.4, with strings of bits instead of arithmetic. */
function tabulated(l: number, k: number): string[] {
  const rows: string[] = [];
  for (let j = 0; j <= l + k - 2; j += 1) {
    const m = j % l;
    for (let i = 0; i < 2 ** l; i += 1) {
      const bits = i.toString(2).padStart(l, '0');
      const s = bits.slice(l - m) + bits.slice(0, l - m);
      const r = s.length - 1 - s.lastIndexOf('1');
      let block = -1;
      if (!s.includes('1')) block = Math.min(j, k - 1);
      else if (Number.parseInt(s, 2) !== 1 && j - l + r >= 0) block = Math.min(j - l + r, k - 1);
      if (block >= 0) rows.push(`${j}: ${i} -> ${i ^ (2 ** m)} ${block}`);
    }
  }
  return rows;
}

describe('binomial pipeline', () => {
  it('equals the corrected table of the paper for powers of two', () => {
    for (let l = 1; l <= 7; l += 1) {
      for (const k of [1, 2, 3, 5, 8, 13]) {
        const rows = [...pipeline(2 ** l, k).transfers()].map(
          (t) => `${t.step}: ${t.from} -> ${t.to} ${t.block}`,
        );
        expect(rows).toEqual(tabulated(l, k));
      }
    }
  });

  it(`keeps every rule in k + ceil(log2 n) - 1 steps for all n to ${MOST} and all k to 24`, () => {
    for (let n = 2; n <= MOST; n += 1) {
      for (let k = 1; k <= 24; k += 1) {
        const schedule = pipeline(n, k);
        expect(schedule.steps).toBe(k + ceilLog2(n) - 1);
        const { faults } = judge(schedule);
        if (faults.length > 0) expect.fail(`n=${n} k=${k}: ${faults.join('; ')}`);
      }
    }
  });

  it('gives each rank its own part for all n to 66 and k to 16', () => {
    for (let n = 2; n <= 66; n += 1) {
      for (let k = 1; k <= 16; k += 1) {
        const faults = judgeParts(pipeline(n, k));
        if (faults.length > 0) expect.fail(`n=${n} k=${k}: ${faults.join('; ')}`);
      }
    }
  });

  it('keeps every rule for sampled n to 5,000 and k to 200', () => {
    const sizes = fc.tuple(fc.integer({ min: 2, max: 5000 }), fc.integer({ min: 1, max: 200 }));
    fc.assert(
      fc.property(sizes, ([n, blocks]) => {
        const k = Math.max(1, Math.min(blocks, Math.floor(200_000 / n)));
        expect(judge(pipeline(n, k)).faults).toEqual([]);
      }),
      { numRuns: long ? 40 : 8 },
    );
  });

  it.each([
    [65_535, 3],
    [65_536, 2],
    [65_537, 3],
    ...(long
      ? [
          [99_999, 2],
          [100_000, 5],
        ]
      : []),
  ] as [number, number][])('keeps every rule for n = %i, k = %i', (n, k) => {
    const schedule = pipeline(n, k);
    expect(schedule.steps).toBe(k + 16 + (n > 65_536 ? 1 : 0) - 1);
    expect(judge(schedule).faults).toEqual([]);
  });

  it('has each transfer in the part of its sender and of its receiver, for sampled ranks of large groups', () => {
    const sample = fc
      .tuple(fc.integer({ min: 2, max: 100_000 }), fc.integer({ min: 1, max: 60 }), fc.nat())
      .map(([n, k, seed]) => ({ n, k, rank: seed % n }));
    fc.assert(
      fc.property(sample, ({ n, k, rank }) => {
        const schedule = pipeline(n, k);
        const { sends, receives } = schedule.rank(rank);
        expect(receives.map((t) => t.block).sort((a, b) => a - b)).toEqual(
          rank === 0 ? [] : Array.from({ length: k }, (_, block) => block),
        );
        for (const t of sends) expect([...schedule.receives(t.to, t.step)][0]).toEqual(t);
        for (const t of receives) expect([...schedule.sends(t.from, t.step)][0]).toEqual(t);
        const neighbours = schedule.neighbours(rank);
        expect(receives[0]?.from).toBe(neighbours.firstFrom);
        expect(neighbours.sendsTo).toEqual(expect.arrayContaining([...new Set(sends.map((t) => t.to))]));
      }),
      { numRuns: 60 },
    );
  });

  it('has neighbours that are exactly the partners of a long message', () => {
    for (const n of [2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 23, 31, 32, 33, 47, 64, 65, 100, 127, 128, 130]) {
      const schedule = pipeline(n, 4 * ceilLog2(n) + 4);
      const actual = partners(schedule);
      for (let rank = 0; rank < n; rank += 1) {
        const { sendsTo, receivesFrom } = schedule.neighbours(rank);
        expect(sendsTo, `n=${n} rank=${rank}`).toEqual(actual.sendsTo[rank]);
        expect(receivesFrom, `n=${n} rank=${rank}`).toEqual(actual.receivesFrom[rank]);
      }
    }
  });

  it('has a number of neighbours that grows with log n', () => {
    for (const rank of [0, 1, 2, 3, 40_000, 65_535, 65_536, 99_999]) {
      const { sendsTo, receivesFrom } = pipeline(100_000, 1).neighbours(rank);
      expect(sendsTo.length).toBeLessThanOrEqual(2 * 17);
      expect(receivesFrom.length).toBeLessThanOrEqual(2 * 17);
    }
  });

  it('gets each first block from the same rank for every k', () => {
    for (let n = 2; n <= 130; n += 1) {
      const first = judge(pipeline(n, 1)).firstFrom;
      for (const k of [2, 3, 7, 8, 17]) {
        expect(judge(pipeline(n, k)).firstFrom, `n=${n} k=${k}`).toEqual(first);
      }
    }
  });

  it.each([1000, 1024, 100_000])('reads any part of 2^32 blocks among %i members at once', (n) => {
    const k = 2 ** 32;
    const schedule = pipeline(n, k);
    expect(schedule.steps).toBe(k + ceilLog2(n) - 1);
    for (const rank of [1, 2, 513, n - 1]) {
      const middle = schedule.receives(rank, k / 2).next().value!;
      expect(middle.step).toBe(k / 2);
      expect(schedule.sends(middle.from, middle.step).next().value).toEqual(middle);
      const tail = [...schedule.receives(rank, schedule.steps - 40)].map((t) => t.block);
      expect(new Set(tail).size).toBe(tail.length);
      expect(Math.max(...tail)).toBe(k - 1);
      const last = [...schedule.sends(rank, schedule.steps - 1)];
      for (const t of last) expect(schedule.receives(t.to, t.step).next().value).toEqual(t);
    }
  });
});
