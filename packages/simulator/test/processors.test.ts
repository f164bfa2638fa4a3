/* Processors that the threads of all hosts share. */
import { describe, expect, it } from 'vitest';
import { Call, Clock } from '../src/clock.js';
import { idealCluster, presets, type SimulateOptions, simulate, simulateObjects } from '../src/index.js';
import { Processors } from '../src/processors.js';

const BLOCK = 1000;
const PAIRS = 6;
const COPY = 100;

/** Each of six pairs sends one block at the same time; only its copy at the receiver takes time. */
function copies(sharedProcessors?: number): number[] {
  const ideal = idealCluster(8, { bucketBytes: BLOCK });
  const cluster = { ...ideal, host: { ...ideal.host, copyMiB: (COPY * 2 ** 20) / BLOCK } };
  const objects = Array.from({ length: PAIRS }, (_, pair) => {
    return { members: [2 * pair, 2 * pair + 1], byteLength: BLOCK };
  });
  return simulateObjects({
    ...{ cluster, objects, nodes: 2 * PAIRS, blockBytes: BLOCK, inFlight: PAIRS },
    sharedProcessors,
  }).messages.map(({ completeAt }) => Math.round(completeAt / COPY));
}

describe('shared processors', () => {
  it('do the work of all hosts one after the other, first come, first served', () => {
    expect(copies()).toEqual([1, 1, 1, 1, 1, 1]);
    expect(copies(PAIRS)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(copies(1)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(copies(2)).toEqual([1, 1, 2, 2, 3, 3]);
    expect(copies(4)).toEqual([1, 1, 1, 1, 2, 2]);
  });

  const group: SimulateOptions = {
    cluster: 'netlab',
    ...{ nodes: 8, byteLength: 2 ** 20, blockBytes: 2 ** 14, trace: true },
  };

  it('are as many own ones where there is one for each host', () => {
    expect(simulate({ ...group, sharedProcessors: 8 })).toEqual(simulate(group));
  });

  it('take no less than their part of the work, and give one trace', () => {
    // Work that takes longer than the links.
    const cluster = { ...presets.get('netlab')!, gbitPerSecond: 100 };
    const report = simulate({ ...group, cluster, sharedProcessors: 2 });
    const work = report.hosts.reduce((sum, { working }) => sum + working, 0);
    expect(report.microseconds).toBeGreaterThan(0.9 * (work / 2));
    expect(report.microseconds).toBeGreaterThan(simulate({ ...group, cluster }).microseconds);
    expect(simulate({ ...group, cluster, sharedProcessors: 2 })).toEqual(report);
  });

  it('go to the one that waits longest', () => {
    const clock = new Clock();
    const processors = new Processors(clock, 1);
    const order: number[] = [];
    const calls = [0, 1, 2].map((id) => new Call(() => order.push(id)));
    expect(calls.map((call) => processors.take(call))).toEqual([true, false, false]);
    processors.give();
    processors.give();
    clock.run(() => {});
    expect(order).toEqual([1, 2]);
    processors.give();
    expect(processors.take(calls[0]!)).toBe(true);
  });
});
