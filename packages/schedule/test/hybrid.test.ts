import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSchedule, type RackId, rackTraffic, type Schedule } from '../src/index.js';
import { judge, judgeParts, partners } from './checker.js';

function hybrid(racks: readonly RackId[], blocks: number): Schedule {
  return createSchedule({ algorithm: 'hybrid', nodes: racks.length, blocks, racks });
}

/** Contiguous racks of the given sizes. */
function sized(...sizes: number[]): string[] {
  return sizes.flatMap((size, rack) => Array<string>(size).fill(`rack-${rack}`));
}

function leadersOf(racks: readonly RackId[]): number[] {
  return racks.flatMap((rack, rank) => (racks.indexOf(rack) === rank ? [rank] : []));
}

/** The most steps with two levels; k + ceil(log2 n) − 1 with one. */
function mostSteps(racks: readonly RackId[], k: number): number {
  const sizes = new Map<RackId, number>();
  for (const rack of racks) sizes.set(rack, (sizes.get(rack) ?? 0) + 1);
  const levels = (count: number): number => Math.ceil(Math.log2(count));
  const [top, inner] = [levels(sizes.size), levels(Math.max(...sizes.values()))];
  if (top === 0 || inner === 0) return k + top + inner - 1;
  // Two further steps for a size that is not a power of two, and a last turn that is not full.
  return k + (top + 2) * (inner + 2) + inner + 2;
}

const layouts: Record<string, RackId[]> = {
  'two racks of two': sized(2, 2),
  'four racks of four': sized(4, 4, 4, 4),
  'three racks of five': sized(5, 5, 5),
  'a root alone in its rack': sized(1, 4, 3),
  'only the root has rack-mates': sized(6, 1, 1, 1),
  'one rack': sized(7),
  'every member in a rack of its own': [5, 4, 3, 2, 1, 0],
  'scattered ranks, mixed names': ['b', 7, 'a', 'b', 7, '7', 'a', 'b', 'b', 7, '7', 'a', 'c'],
  'eleven racks of different sizes': sized(3, 1, 7, 2, 2, 9, 1, 4, 5, 8, 6),
};

/** RDMC_TEST_LONG=1: all sizes, and more samples. */
const long = process.env.RDMC_TEST_LONG === '1';
const MOST = long ? 20 : 12;
const numRuns = long ? 60 : 20;

const rackLists = fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 2, maxLength: 150 });

describe('hybrid', () => {
  it('takes k + (L + 1)(l + 1) - 2 steps for powers of two and whole turns', () => {
    for (const [count, size] of [
      [2, 2],
      [4, 4],
      [2, 16],
      [16, 2],
      [8, 8],
    ] as const) {
      const [top, inner] = [Math.log2(count), Math.log2(size)];
      for (const turns of [1, 2, 7]) {
        const k = turns * (inner + 1);
        const racks = sized(...Array<number>(count).fill(size));
        expect(hybrid(racks, k).steps).toBe(k + (top + 1) * (inner + 1) - 2);
      }
    }
  });

  it.each(Object.entries(layouts))('keeps every rule, in about a step per block: %s', (_, racks) => {
    for (let k = 1; k <= 24; k += 1) {
      const schedule = hybrid(racks, k);
      expect(schedule.steps).toBeLessThanOrEqual(mostSteps(racks, k));
      expect([...judge(schedule).faults, ...judgeParts(schedule)], `k=${k}`).toEqual([]);
    }
  });

  it(`keeps every rule for every number of racks and every size of rack to ${MOST}`, () => {
    for (let count = 1; count <= MOST; count += 1) {
      for (let size = 1; size <= MOST; size += 1) {
        if (count * size < 2) continue;
        const racks = sized(...Array<number>(count).fill(size));
        for (const k of [1, 2, 5, 12]) {
          const { faults } = judge(hybrid(racks, k));
          if (faults.length > 0) expect.fail(`${count} racks of ${size}, k=${k}: ${faults.join('; ')}`);
        }
      }
    }
  });

  it('keeps every rule for any racks', () => {
    fc.assert(
      fc.property(rackLists, fc.integer({ min: 1, max: 60 }), (racks, k) => {
        const schedule = hybrid(racks, k);
        expect(schedule.steps).toBeLessThanOrEqual(mostSteps(racks, k));
        expect([...judge(schedule).faults, ...judgeParts(schedule)]).toEqual([]);
      }),
      { numRuns },
    );
  });

  it('brings each block into each rack exactly once, and never into the root rack', () => {
    fc.assert(
      fc.property(rackLists, fc.integer({ min: 1, max: 20 }), (racks, k) => {
        const schedule = hybrid(racks, k);
        const entries = [...schedule.transfers()].filter((t) => racks[t.from] !== racks[t.to]);
        const distinct = new Set(entries.map((t) => `${racks[t.to]}/${t.block}`));
        expect(distinct.size).toBe(entries.length);
        expect(entries.length).toBe((new Set(racks).size - 1) * k);
        for (const { rack, entering } of rackTraffic(schedule))
          expect(entering).toBe(rack === racks[0] ? 0 : k);
        const leaders = new Set(leadersOf(racks));
        for (const t of entries) expect(leaders.has(t.to)).toBe(true);
      }),
      { numRuns },
    );
  });

  it('crosses uplinks far less than the flat pipeline', () => {
    const racks = layouts['four racks of four']!;
    const flat = createSchedule({ algorithm: 'binomial-pipeline', nodes: 16, blocks: 40, racks });
    const crossings = (schedule: Schedule) =>
      rackTraffic(schedule).reduce((sum, rack) => sum + rack.entering, 0);
    expect(crossings(hybrid(racks, 40))).toBe(3 * 40);
    expect(crossings(flat)).toBeGreaterThan(2 * 3 * 40);
  });

  it('overlaps the levels: a rack starts before its leader has the whole message', () => {
    const racks = sized(4, 4, 4, 4);
    const all = [...hybrid(racks, 20).transfers()];
    for (const leader of leadersOf(racks)) {
      const firstInside = all.find((t) => t.from === leader && racks[t.to] === racks[leader])!;
      const lastReceived = all.filter((t) => t.to === leader).at(-1)?.step ?? 24;
      expect(firstInside.step).toBeLessThan(9);
      expect(lastReceived).toBeGreaterThan(20);
    }
  });

  it('has the partners of every message among its neighbours, and a k-independent first sender', () => {
    for (const racks of Object.values(layouts)) {
      const neighbours = racks.map((_, rank) => hybrid(racks, 1).neighbours(rank));
      for (const k of [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 40, 150]) {
        const schedule = hybrid(racks, k);
        const actual = partners(schedule);
        for (const [rank, { sendsTo, receivesFrom, firstFrom }] of neighbours.entries()) {
          expect(sendsTo).toEqual(expect.arrayContaining(actual.sendsTo[rank]!));
          expect(receivesFrom).toEqual(expect.arrayContaining(actual.receivesFrom[rank]!));
          expect(schedule.receives(rank).next().value?.from, `rank ${rank}, k=${k}`).toBe(firstFrom);
        }
      }
    }
  });

  it('gets each first block from the same rank for every k, in any racks', () => {
    fc.assert(
      fc.property(rackLists, fc.integer({ min: 1, max: 60 }), (racks, k) => {
        const schedule = hybrid(racks, k);
        for (let rank = 1; rank < racks.length; rank += 1) {
          expect(schedule.receives(rank).next().value!.from).toBe(schedule.neighbours(rank).firstFrom);
        }
      }),
      { numRuns },
    );
  });

  it('has no other neighbours than partners where sizes are powers of two', () => {
    const racks = layouts['four racks of four']!;
    const actual = partners(hybrid(racks, 40));
    for (let rank = 0; rank < racks.length; rank += 1) {
      const { sendsTo, receivesFrom } = hybrid(racks, 40).neighbours(rank);
      expect({ sendsTo, receivesFrom }).toEqual({
        sendsTo: actual.sendsTo[rank],
        receivesFrom: actual.receivesFrom[rank],
      });
    }
  });

  it('sends one block out of a rack and takes one in per step, so that uplinks are never shared', () => {
    fc.assert(
      fc.property(rackLists, fc.integer({ min: 1, max: 40 }), (racks, k) => {
        const seen = new Set<string>();
        for (const { step, from, to } of hybrid(racks, k).transfers()) {
          if (racks[from] === racks[to]) continue;
          for (const port of [`${step} out of ${racks[from]}`, `${step} into ${racks[to]}`]) {
            expect(seen.has(port), port).toBe(false);
            seen.add(port);
          }
        }
      }),
      { numRuns },
    );
  });

  it('is the binomial pipeline when there is only one level', () => {
    for (const name of ['one rack', 'every member in a rack of its own']) {
      const racks = layouts[name]!;
      const flat = createSchedule({ algorithm: 'binomial-pipeline', nodes: racks.length, blocks: 6 });
      expect([...hybrid(racks, 6).transfers()]).toEqual([...flat.transfers()]);
    }
  });

  it('tells the rack 7 from the rack "7"', () => {
    expect(rackTraffic(hybrid(layouts['scattered ranks, mixed names']!, 2)).map((rack) => rack.rack)).toEqual(
      ['b', 7, 'a', '7', 'c'],
    );
  });

  const [many, manyRacks] = long ? [100_000, 2500] : [16_000, 1000];
  it(`keeps every rule for ${many} members in ${manyRacks} racks`, () => {
    const racks = Array.from({ length: many }, (_, rank) => rank % manyRacks);
    const schedule = hybrid(racks, 3);
    expect(schedule.steps).toBeLessThanOrEqual(mostSteps(racks, 3));
    expect(judge(schedule).faults).toEqual([]);
  });

  it('reads a part of 2^32 blocks at once', () => {
    const schedule = hybrid(layouts['eleven racks of different sizes']!, 2 ** 32);
    for (const rank of [1, 4, 30, 47]) {
      const middle = schedule.receives(rank, 2 ** 32).next().value!;
      expect(schedule.sends(middle.from, middle.step).next().value).toEqual(middle);
    }
  });
});
