import { describe, expect, it } from 'vitest';
import { idealCluster, type SimulateOptions, simulate } from '../src/index.js';

/** Two members, one block that takes 1 µs. */
const PAIR: SimulateOptions = {
  cluster: idealCluster(8),
  nodes: 2,
  byteLength: 1000,
  blockBytes: 1000,
};

function timeOf(options: Partial<SimulateOptions>): number {
  return simulate({ ...PAIR, ...options }).microseconds;
}

function clusterWith(host: object, nic: object = {}) {
  const cluster = idealCluster(8);
  return { ...cluster, host: { ...cluster.host, ...host }, nic: { ...cluster.nic, ...nic } };
}

describe('the NIC', () => {
  it('adds its time per request, the latency and the acknowledgement', () => {
    // Announcement: 3 + 10. Block: 3 + 1 + 10, acknowledgement 5: the root ends when it has it.
    expect(timeOf({ cluster: clusterWith({}, { request: 3, latency: 10, acknowledgement: 5 }) })).toBe(32);
  });
});

describe('the host thread', () => {
  it('costs time for each completion, request and announcement of a turn', () => {
    const cluster = clusterWith({ completion: 100, post: 10, announcement: 1 });
    // The receiver's first turn ends at 111, the root's first two at 100 and 200. The root takes the announcement and
    // sends: 310. The receiver takes the block: 411; and the memory, and posts the next first receive: 522.
    const { microseconds, hosts } = simulate({ ...PAIR, cluster, windows: 'single' });
    expect(microseconds).toBe(522);
    expect(hosts[1]!.working).toBe(111 + 100 + 111);
  });

  it('copies the first block of a message', () => {
    const copyMiB = 1048.576;
    // 1000 bytes at 1048.576 µs per MiB.
    expect(timeOf({ cluster: clusterWith({ copyMiB }) }) - timeOf({})).toBeCloseTo(1, 9);
  });

  it('waits for the set-up at the root and at the receiver', () => {
    const base = timeOf({});
    expect(timeOf({ cluster: clusterWith({ sendSetUp: 7 }) })).toBe(base + 7);
    expect(timeOf({ cluster: clusterWith({ incomingSetUp: 4 }) })).toBe(base + 4);
  });

  it('sleeps with a window of 0, polls with Infinity, and sleeps after a short window', () => {
    const cluster = clusterWith({ wakeUp: 5 });
    const polling = simulate({ ...PAIR, cluster, windowMs: Number.POSITIVE_INFINITY });
    const interrupts = simulate({ ...PAIR, cluster, windowMs: 0 });
    expect(polling.microseconds).toBe(1);
    expect(polling.hosts.map(({ wakeUps }) => wakeUps)).toEqual([0, 0]);
    expect(polling.hosts[1]!.polling).toBeCloseTo(1, 9);
    expect(interrupts.hosts[1]!.wakeUps).toBeGreaterThan(0);
    expect(interrupts.microseconds).toBeGreaterThan(polling.microseconds);
    expect(interrupts.hosts[1]!.polling).toBe(0);
    const long = { ...PAIR, cluster, byteLength: 100_000, blockBytes: 100_000 };
    const hybrid = simulate({ ...long, windowMs: 0.02 });
    // It polls for 20 µs of the 100 µs that the block takes, and then sleeps.
    expect(hybrid.hosts[1]!.polling).toBeCloseTo(20, 6);
    expect(hybrid.microseconds).toBeCloseTo(105, 6);
  });

  it('does not wake for completions of its own sends that nothing waits for', () => {
    const cluster = clusterWith({ wakeUp: 5 });
    const options = { ...PAIR, cluster, nodes: 4, byteLength: 64_000, windowMs: 0 };
    const turns = (windows: 'shipped' | 'single') => {
      const { hosts } = simulate({ ...options, windows });
      return hosts.reduce((sum, host) => sum + host.wakeUps, 0);
    };
    expect(turns('shipped')).toBeLessThan(turns('single'));
  });
});

describe('preemption', () => {
  const LONG: Partial<SimulateOptions> = { nodes: 2, byteLength: 50_000 };

  it('delays a turn by what is left of it', () => {
    const scripted = [{ node: 1, at: 49.5, lasts: 100 }];
    // The last block arrives at 50 µs; its completion is taken at 149.5 µs.
    expect(timeOf({ ...LONG, preemptions: scripted })).toBeCloseTo(149.5, 9);
    expect(timeOf(LONG)).toBe(50);
  });

  it('costs nothing while the thread has nothing to do', () => {
    expect(timeOf({ ...LONG, windows: 'shipped', preemptions: [{ node: 1, at: 20.1, lasts: 0.5 }] })).toBe(
      50,
    );
  });

  it('comes at random times that follow from the seed', () => {
    const preemptionRate = { perSecond: 5000, lasts: 100 };
    const options = { nodes: 8, byteLength: 2_000_000, preemptionRate };
    expect(timeOf({ ...options, seed: 1 })).toBe(timeOf({ ...options, seed: 1 }));
    expect(timeOf({ ...options, seed: 1 })).not.toBe(timeOf({ ...options, seed: 2 }));
    expect(timeOf({ ...options, seed: 1 })).toBeGreaterThan(timeOf({ nodes: 8, byteLength: 2_000_000 }));
  });

  it('does not delay an offloaded group', () => {
    const preemptionRate = { perSecond: 5000, lasts: 100 };
    const options = { nodes: 8, byteLength: 2_000_000, offload: true };
    expect(timeOf({ ...options, preemptionRate })).toBe(timeOf(options));
  });
});

describe('offload', () => {
  it('takes the release time instead of the thread', () => {
    const cluster = clusterWith({ completion: 3, post: 2, announcement: 2 }, { offload: 0.5 });
    const chain: Partial<SimulateOptions> = { cluster, nodes: 8, byteLength: 50_000, algorithm: 'chain' };
    expect(timeOf({ ...chain, offload: true })).toBeLessThan(timeOf(chain));
    const { hosts } = simulate({ ...PAIR, ...chain, offload: true });
    expect(hosts.every(({ working }) => working === 0)).toBe(true);
  });
});
