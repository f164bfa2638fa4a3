/*
 * Queues in front of ports, and the windows of groups. The measured times are those of real groups between network namespaces
 * whose links have queues of 50 ms (docs/results/multicast-windows.md).
 */
import { slowLinkBound } from '@rdmc/schedule';
import { describe, expect, it } from 'vitest';
import {
  type Cluster,
  idealCluster,
  presets,
  type SimulateOptions,
  simulate,
  simulateObjects,
} from '../src/index.js';

const KIB = 1024;
const BLOCK = 64 * KIB;
/** Microseconds in which a port sends a block. */
const STEP = 100;
const LINK = { gbitPerSecond: (BLOCK * 8) / (STEP * 1000) };

function steps(cluster: Partial<Cluster>, options: Partial<SimulateOptions>): number {
  const { microseconds } = simulate({
    cluster: idealCluster(LINK.gbitPerSecond, cluster),
    nodes: 2,
    byteLength: BLOCK,
    blockBytes: BLOCK,
    ...options,
  });
  return microseconds / STEP;
}

describe('a queue in front of each port', () => {
  it('does not change the time of a block, nor that of members in step', () => {
    for (const queueMicroseconds of [0, 0.5 * STEP, 10 * STEP]) {
      expect(steps({ queueMicroseconds }, {})).toBeCloseTo(1, 6);
      const options = { nodes: 8, byteLength: 20 * BLOCK, windows: 'single' } as const;
      expect(steps({ queueMicroseconds }, options)).toBeCloseTo(22, 6);
    }
  });

  it('takes the same time as a shared port for the last of two senders', () => {
    const objects = [1, 2].map((root) => ({ members: [root, 0], byteLength: BLOCK }));
    for (const queueMicroseconds of [0, 10 * STEP]) {
      const times = simulateBoth({ queueMicroseconds }, objects);
      expect(Math.max(...times) / STEP).toBeCloseTo(2, 6);
      // The queue delivers in order, and a shared port both at once.
      expect(Math.min(...times) / STEP).toBeCloseTo(queueMicroseconds === 0 ? 2 : 1, 6);
    }
  });

  it('lets members work ahead only if it has room for whole blocks', () => {
    const pipeline = { nodes: 6, byteLength: 100 * BLOCK, windows: 'ahead' } as const;
    expect(steps({}, pipeline)).toBeGreaterThan(1.9 * 100);
    expect(steps({ queueMicroseconds: 0.5 * STEP }, pipeline)).toBeGreaterThan(1.4 * 100);
    expect(steps({ queueMicroseconds: 10 * STEP }, pipeline)).toBeLessThan(1.1 * 100);
  });

  it.each([
    [64, 16, 1.02],
    [1024, 48, 1.73],
  ])('with blocks of %i KiB, is within 15%% of six real members that work ahead', (kib, mib, measured) => {
    const cluster = { ...presets.get('netlab')!, gbitPerSecond: 0.1 };
    const byteLength = mib * KIB * KIB;
    const { microseconds } = simulate({
      ...{ cluster, nodes: 6, byteLength, blockBytes: kib * KIB, windows: 'ahead' },
    });
    const toStream = microseconds / ((byteLength * 8) / 100);
    expect(Math.abs(toStream / measured - 1)).toBeLessThan(0.15);
  });
});

describe('the shipped windows', () => {
  const LENGTH = 100;
  const LATE = 2;
  const time = (options: Partial<SimulateOptions>) => steps({}, { byteLength: LENGTH * BLOCK, ...options });

  it('take little more than the schedule, without queues', () => {
    for (let nodes = 2; nodes <= 33; nodes += 1) {
      const least = LENGTH + Math.ceil(Math.log2(nodes)) - 1;
      // Groups of powers of two work ahead, and lose a little by it.
      const most = Number.isInteger(Math.log2(nodes)) ? 1.25 : 1.001;
      expect(time({ nodes }), `${nodes} members`).toBeLessThan(most * least);
    }
  });

  it('are not slower than windows that work ahead with every schedule', () => {
    for (const algorithm of ['chain', 'binomial-tree', 'binomial-pipeline'] as const) {
      for (const nodes of [3, 5, 6, 8, 12, 16]) {
        const ahead = time({ nodes, algorithm, windows: 'ahead' });
        expect(time({ nodes, algorithm }), `${algorithm} ${nodes}`).toBeLessThan(1.02 * ahead);
      }
    }
    for (const sizes of [
      [4, 4, 4, 4],
      [3, 3, 3],
      [5, 3, 6, 2],
    ]) {
      const racks = sizes.flatMap((size, rack) => Array<number>(size).fill(rack));
      const hybrid = { algorithm: 'hybrid', nodes: racks.length, racks } as const;
      expect(time(hybrid)).toBeLessThan(0.9 * time({ ...hybrid, windows: 'ahead' }));
    }
  });

  it('keep the share of section 4.5 with a slow link, and lose no more by a late member than it is late', () => {
    for (const nodes of [6, 8, 12]) {
      const slow = { nodes, slowLinks: [{ a: 1, b: 3, ratio: 0.5 }] };
      const share = slowLinkBound(2 ** Math.floor(Math.log2(nodes)), 0.5);
      expect(time(slow)).toBeLessThan(1.02 * (time({ nodes }) / share));
      expect(time(slow)).toBeLessThan(1.05 * time({ ...slow, windows: 'ahead' }));
      const late = { nodes, preemptions: [{ node: 3, at: 20 * STEP, lasts: LATE * STEP }] };
      expect(time(late)).toBeLessThan(time({ nodes }) + LATE + 1);
    }
  });
});

function simulateBoth(cluster: Partial<Cluster>, objects: { members: number[]; byteLength: number }[]) {
  return simulateObjects({
    cluster: idealCluster(LINK.gbitPerSecond, cluster),
    ...{ nodes: 3, objects, blockBytes: BLOCK, inFlight: 2 },
  }).messages.map(({ completeAt }) => completeAt);
}
