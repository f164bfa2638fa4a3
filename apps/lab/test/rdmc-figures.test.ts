import { simulate } from '@rdmc/simulator';
import { describe, expect, it } from 'vitest';
import { allGroups, cosmosLoad } from '../src/catalogue/rdmc/cosmos-load.js';
import { receiveSteps, sendSteps } from '../src/catalogue/rdmc/figure-5.js';
import { breakdown, farthestOf } from '../src/catalogue/rdmc/table-1.js';

const MIB = 2 ** 20;
const STAMPEDE = {
  cluster: 'stampede',
  nodes: 4,
  byteLength: 16 * MIB,
  windows: 'paper',
  trace: true,
} as const;

describe('Table 1', () => {
  it('has parts that add up to the whole', () => {
    const report = simulate(STAMPEDE);
    const parts = breakdown(report);
    const total = parts.at(-1)!;
    expect(total).toBe(report.microseconds);
    expect(parts.slice(0, -1).reduce((sum, part) => sum + part, 0)).toBeCloseTo(total, 6);
    for (const part of parts) expect(part).toBeGreaterThan(0);
  });

  it('is about the member that gets its first block last', () => {
    const { trace } = simulate(STAMPEDE);
    const first = (node: number) =>
      Math.min(...trace!.flatMap((record) => (record.node === node ? (record.received ?? []) : [])));
    const farthest = farthestOf(trace!);
    for (const node of [1, 2, 3]) expect(first(farthest)).toBeGreaterThanOrEqual(first(node));
  });
});

describe('Figure 5', () => {
  it('has each block of the root and of the relay, with the time before it', () => {
    const { trace, microseconds } = simulate(STAMPEDE);
    for (const steps of [sendSteps(trace!, 0), receiveSteps(trace!, farthestOf(trace!))]) {
      expect(steps.length).toBeGreaterThanOrEqual(16);
      const sum = steps.reduce((total, { transfer, wait }) => total + transfer + wait, 0);
      expect(sum).toBeLessThanOrEqual(microseconds);
      for (const { transfer } of steps) expect(transfer).toBeGreaterThan(0);
    }
  });
});

describe('the Cosmos-like load', () => {
  it('has all groups of three of fifteen hosts', () => {
    const groups = allGroups();
    expect(groups).toHaveLength(455);
    expect(new Set(groups.map(String)).size).toBe(455);
  });

  it('has the median and the mean of the trace, and is the same each time', () => {
    const load = cosmosLoad(20_000);
    const sizes = load.map(({ byteLength }) => byteLength).sort((a, b) => a - b);
    expect(sizes[10_000]! / 12e6).toBeCloseTo(1, 1);
    expect(sizes.reduce((sum, size) => sum + size, 0) / 20_000 / 29e6).toBeCloseTo(1, 1);
    expect(sizes[0]).toBeGreaterThanOrEqual(300);
    expect(cosmosLoad(20_000)).toEqual(load);
  });
});
