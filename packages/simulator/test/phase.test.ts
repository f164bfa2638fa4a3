/*
 * One send at a time, and two receives announced. In the pipeline of four members the root and node 3 send to nodes 1 and 2
 * by turns: 0→1 beside 3→2, then 0→2 beside 3→1. Let node 3 be late by ε once:
 *
 *   one receive announced:   0→2 waits until 3→2 has ended. Both are in step again, and the whole is later by ε.
 *   two receives announced:  0→2 starts while ε of 3→2 is left. They share the port of node 2, so 3→2 ends ε later, and 0→2 also
 *                            takes 1 + ε. Then 0→1 starts while ε of 3→1 is left, and so on: each step takes 1 + ε.
 *
 * With ε = 1 both send to the same node all the time, and the other node's port is idle: the whole takes twice the time.
 */
import { describe, expect, it } from 'vitest';
import { simulate, windowsByName } from '../src/index.js';
import { runIdeal } from '../src/validation/ideal.js';

const BLOCKS = 80;
const NODES = 4;
const STEPS = BLOCKS + 1;

/** The time in steps if the first block from node 3 to node 2 is late once. */
function timeWith(windows: { receive: number; send: number; ready?: number }, late: number): number {
  const trace = runIdeal({ nodes: NODES, blocks: BLOCKS, windows, trace: true }).trace!;
  const [first] = trace.filter(({ node, sendTo }) => node === 3 && sendTo === 2);
  const delays = late === 0 ? [] : [{ from: 3, to: 2, block: first!.sendBlock!, lasts: late }];
  return runIdeal({ nodes: NODES, blocks: BLOCKS, windows, delays }).microseconds;
}

describe('a member that is late once, with one send at a time', () => {
  it('costs nothing if it is not late', () => {
    for (const ready of [1, 2]) expect(timeWith({ receive: 2, send: 1, ready }, 0)).toBeCloseTo(STEPS, 6);
  });

  it.each([0.25, 0.5, 1])('makes the whole at most %f later if one receive is announced', (late) => {
    expect(timeWith({ receive: 2, send: 1, ready: 1 }, late)).toBeLessThanOrEqual(STEPS + late + 1e-6);
    expect(timeWith({ receive: 1, send: 1 }, late)).toBeLessThanOrEqual(STEPS + late + 1e-6);
  });

  it.each([0.25, 0.5, 1])('makes each step %f longer if two receives are announced', (late) => {
    const time = timeWith({ receive: 2, send: 1, ready: 2 }, late);
    expect(time / STEPS).toBeGreaterThan(1 + 0.95 * late);
    expect(time / STEPS).toBeLessThan(1 + 1.05 * late);
    expect(timeWith({ receive: 2, send: 1 }, late)).toBe(time);
  });

  it('costs nothing with the shipped windows: further sends fill the idle port', () => {
    const { shipped } = windowsByName;
    expect(timeWith(shipped, 1)).toBe(timeWith(shipped, 0));
    expect(timeWith(shipped, 1)).toBeLessThan(STEPS + 3);
  });
});

describe('Stampede with one send at a time', () => {
  /** In steps of one block. The copy of the first block takes about as long as a block, so that members are late by one. */
  function steps(windows: { receive: number; send: number; ready: number }): number {
    const MIB = 2 ** 20;
    const { microseconds } = simulate({
      cluster: 'stampede',
      nodes: NODES,
      byteLength: BLOCKS * MIB,
      windows,
    });
    return microseconds / (MIB / (36.04 * 125));
  }

  it('takes a step for each block with one announced receive, and two with two', () => {
    expect(steps({ receive: 2, send: 1, ready: 1 }) / STEPS).toBeLessThan(1.05);
    expect(steps({ receive: 2, send: 1, ready: 2 }) / STEPS).toBeGreaterThan(1.8);
  });
});
