import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fairRates, parkingLotChecks, rackChecks, sinkChecks } from '../src/validation/sharing.js';
import { carry } from './support/carry.js';
import { expectAll } from './support/checks.js';

const ROUNDING = 1e-9;

const networks = fc.integer({ min: 1, max: 8 }).chain((links) =>
  fc.record({
    capacities: fc.array(fc.integer({ min: 1, max: 100 }), { minLength: links, maxLength: links }),
    paths: fc.array(fc.uniqueArray(fc.nat(links - 1), { minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 20,
    }),
  }),
);

/** Rates of the flows over a link. */
function ratesOver(link: number, paths: readonly number[][], rates: readonly number[]): number[] {
  return rates.filter((_, flow) => paths[flow]!.includes(link));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

describe('max-min fair sharing', () => {
  it('fills no link beyond its capacity, and gives each flow a full link on which none is faster', () => {
    fc.assert(
      fc.property(networks, ({ capacities, paths }) => {
        const rates = fairRates(capacities, paths);
        capacities.forEach((capacity, link) => {
          expect(sum(ratesOver(link, paths, rates))).toBeLessThanOrEqual(capacity * (1 + ROUNDING));
        });
        paths.forEach((path, flow) => {
          const bottleneck = path.some((link) => {
            const over = ratesOver(link, paths, rates);
            const isFull = sum(over) >= capacities[link]! * (1 - ROUNDING);
            return isFull && Math.max(...over) <= rates[flow]! * (1 + ROUNDING);
          });
          expect(bottleneck, `flow ${flow} at ${rates[flow]}`).toBe(true);
        });
      }),
      { numRuns: 500 },
    );
  });

  it('gives m flows into one sink an m-th each', () => {
    for (let flows = 1; flows <= 64; flows += 1) expectAll(sinkChecks(flows));
  });

  it('shares a parking lot, and the uplink of a rack', () => {
    for (let links = 1; links <= 10; links += 1) expectAll(parkingLotChecks(links));
    for (let crossing = 1; crossing <= 10; crossing += 1) expectAll(rackChecks(crossing));
  });

  it.each([0, 0.01])('carries all bytes, in rounds of %d', (roundTime) => {
    const flows = fc.array(fc.record({ from: fc.nat(9), to: fc.nat(9), bytes: fc.nat(50), at: fc.nat(20) }), {
      minLength: 80,
      maxLength: 120,
    });
    fc.assert(
      fc.property(flows, (list) => {
        const { carried, left, end } = carry(list, { roundTime });
        expect(carried).toBe(sum(list.map(({ bytes }) => bytes)));
        expect(left).toBe(0);
        const exact = carry(list).end;
        // Every flow waits for a round once at most at its start, and once at most when others have ended.
        expect(Math.abs(end - exact)).toBeLessThanOrEqual(2 * roundTime * list.length + exact * ROUNDING);
      }),
      { numRuns: 20 },
    );
  });
});
