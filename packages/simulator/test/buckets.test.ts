/* Token buckets of links: what an idle link lets through at once. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Link } from '../src/flow.js';
import { idealCluster, type SimulateOptions, simulate } from '../src/index.js';
import { TokenBucket } from '../src/token-bucket.js';
import { bucketChainCheck, idleLinkCheck, lastEnd, sharedBucketCheck } from '../src/validation/bucket.js';
import { carry, PORT_RATE, type Started } from './support/carry.js';
import { expectAll } from './support/checks.js';

const BUCKETS = [0, 0.25, 0.5, 1, 1.5, 2, 7];
const QUEUES = [0, 0.5, 20];

describe('a token bucket', () => {
  it('is full at first, gives what it has, and grows by what is not used, up to its size', () => {
    const bucket = new TokenBucket(10, 100);
    expect(bucket.tokens(5)).toBe(100);
    bucket.take(70, 5);
    expect(bucket.tokens(6)).toBe(30);
    expect(bucket.setUse(4, 6)).toBe(Number.POSITIVE_INFINITY);
    expect(bucket.tokens(8)).toBe(42);
    expect(bucket.tokens(100)).toBe(100);
  });

  it('is empty when a faster use has taken the last token, and stays so at its rate', () => {
    const bucket = new TokenBucket(10, 100);
    expect(bucket.setUse(30, 2)).toBe(7);
    expect(bucket.tokens(7)).toBe(0);
    expect(bucket.setUse(10, 7)).toBe(Number.POSITIVE_INFINITY);
    expect(bucket.tokens(1000)).toBe(0);
  });

  it('does not grow from the time at which tokens were taken until the new use is known', () => {
    const bucket = new TokenBucket(10, 100);
    bucket.setUse(0, 0);
    bucket.take(100, 0);
    expect(bucket.tokens(5)).toBe(0);
  });
});

describe('links with buckets', () => {
  it('let the bucket through once in a chain, and cost each hop what the bucket lacks to a block', () => {
    for (const bucket of BUCKETS) {
      for (const queueMicroseconds of QUEUES) {
        for (const [nodes, blocks] of [
          [2, 1],
          [2, 9],
          [3, 2],
          [8, 1],
          [8, 20],
          [33, 12],
        ] as const) {
          expectAll([bucketChainCheck(nodes, blocks, { bucket, queueMicroseconds })]);
        }
      }
    }
  });

  it('gather what they do not carry while they are idle', () => {
    for (const bucket of [0, 0.25, 0.5, 1]) {
      expectAll([0, 0.1, 0.25, 0.5, 3].map((idle) => idleLinkCheck(bucket, idle)));
    }
  });

  it('let several flows use the tokens together', () => {
    for (const count of [2, 3, 7]) {
      expectAll([0, 0.5, 1, 2.5, 30].map((bucket) => sharedBucketCheck(count, 2, bucket)));
    }
  });

  it('let one flow of a faster link use their tokens, then their rate', () => {
    const path = [new Link('own', 2), new Link('shared', 1, 1)];
    expect(lastEnd([{ path, bytes: 3, at: 0 }])).toBe(2);
  });

  it('have no tokens left for flows on their way when a later one took the last', () => {
    const flows = (shared: Link) =>
      ['a', 'b'].map((name) => ({ path: [new Link(name, 1), shared], bytes: 2, at: 0 }));
    expect(lastEnd(flows(new Link('shared', 1, 2)))).toBe(2);
    const shared = new Link('shared', 1, 2);
    expect(lastEnd([...flows(shared), { path: [shared], bytes: 1, at: 0.5 }])).toBe(3);
  });

  it('end their tokens once where the clock is too coarse to say when', () => {
    const shared = new Link('shared', 12_500, 100_000.3);
    const at = 1e12;
    const flows = [0, 1, 2].map((own) => {
      return { path: [new Link(`own ${own}`, 12_500.7 + own)], bytes: 1e6, at };
    });
    const end = lastEnd(flows.map((flow) => ({ ...flow, path: [...flow.path, shared] })));
    expect(end - at).toBeCloseTo((3e6 - 100_000.3) / 12_500, 2);
  });

  it('give their tokens to the flows in the order in which these start', () => {
    // Three blocks into one port at once: the bucket is of one.
    const ends = carry(
      [1, 2, 3].map((from) => ({ from, to: 0, bytes: 50, at: 0 })),
      { bucketBytes: 50 },
    ).ends;
    expect(ends).toEqual([0, 10, 10]);
  });

  it.each([0, 0.01])(
    'carry all bytes, in rounds of %d, and no port more than its rate and its bucket',
    (roundTime) => {
      const flows = fc.array(
        fc.record({ from: fc.nat(9), to: fc.nat(9), bytes: fc.nat(50), at: fc.nat(20) }),
        { minLength: 40, maxLength: 120 },
      );
      fc.assert(
        fc.property(flows, fc.integer({ min: 1, max: 200 }), (list, bucketBytes) => {
          const { carried, left, ends } = carry(list, { roundTime, bucketBytes });
          expect(carried).toBe(list.reduce((sum, { bytes }) => sum + bytes, 0));
          expect(left).toBe(0);
          // Rates that wait for a round may use a link whose tokens have ended.
          const most = bucketBytes + 2 * PORT_RATE * roundTime * list.length + 1e-6;
          expect(Math.max(...tokensUsed(list, ends))).toBeLessThanOrEqual(most);
        }),
        { numRuns: 20 },
      );
    },
  );
});

/** Of each port, each way: bytes that it carried beyond its rate, from its first flow to its last one. */
function tokensUsed(list: readonly Started[], ends: readonly number[]): number[] {
  return (['from', 'to'] as const).flatMap((way) =>
    [...new Set(list.map((flow) => flow[way]))].map((port) => {
      const own = [...list.keys()].filter((index) => list[index]![way] === port);
      const begin = Math.min(...own.map((index) => list[index]!.at));
      const end = Math.max(...own.map((index) => ends[index]!));
      const bytes = own.reduce((sum, index) => sum + list[index]!.bytes, 0);
      return bytes - PORT_RATE * (end - begin);
    }),
  );
}

describe('a cluster with buckets', () => {
  const options: SimulateOptions = {
    cluster: 'apt',
    ...{ nodes: 12, byteLength: 2 ** 21, blockBytes: 2 ** 16, trace: true },
  };
  const cluster = { ...idealCluster(8), rackSize: 4, uplinkGbitPerMember: 2 };

  it('of no byte has the traces of one without', () => {
    const without = simulate({ ...options, cluster });
    expect(simulate({ ...options, cluster: { ...cluster, bucketBytes: 0 } })).toEqual(without);
  });

  it('has the same trace with the same seed, and is faster', () => {
    const shaped = { ...options, cluster: { ...cluster, bucketBytes: 2 ** 17 } };
    const report = simulate(shaped);
    expect(simulate(shaped)).toEqual(report);
    expect(report.microseconds).toBeLessThan(simulate({ ...options, cluster }).microseconds);
  });

  it('with room for a whole message takes no time for bytes', () => {
    expect(simulate({ ...options, cluster: { ...cluster, bucketBytes: 2 ** 30 } }).microseconds).toBe(0);
  });
});
