/* Whole groups: several messages, several senders, all algorithms and windows. */
import { algorithms } from '@rdmc/schedule';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SimulateOptions, simulate, windowsByName } from '../src/index.js';

const runs = fc.record({
  cluster: fc.constantFrom('fractus', 'apt', 'netlab'),
  algorithm: fc.constantFrom(...algorithms),
  nodes: fc.integer({ min: 2, max: 14 }),
  byteLength: fc.integer({ min: 0, max: 20_000 }),
  blockBytes: fc.constantFrom(512, 1000, 4096),
  messages: fc.integer({ min: 1, max: 4 }),
  inFlight: fc.integer({ min: 1, max: 4 }),
  senders: fc.integer({ min: 1, max: 3 }),
  windows: fc.oneof(
    fc.constantFrom(...Object.values(windowsByName)),
    fc.record({
      receive: fc.integer({ min: 1, max: 40 }),
      send: fc.integer({ min: 1, max: 8 }),
      ready: fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }),
    }),
  ),
  windowMs: fc.constantFrom(0, 0.01, 50, Number.POSITIVE_INFINITY),
  by: fc.constantFrom('threads', 'NICs', 'relays of NICs'),
  seed: fc.nat(),
});

function withRacks({
  senders,
  by,
  ...options
}: SimulateOptions & { senders: number; by: string }): SimulateOptions {
  const { nodes } = options;
  const racks = Array.from({ length: nodes }, (_, node) => node % 3);
  return {
    ...options,
    senders: Math.min(senders, nodes),
    racks,
    offload: by === 'NICs',
    relay: by === 'relays of NICs' ? 'device' : 'worker',
    preemptionRate: { perSecond: 500, lasts: 100 },
  };
}

describe('groups', () => {
  it('give every member every block once, leave no queue full, and record each of them', () => {
    fc.assert(
      fc.property(runs, (options) => {
        const checked = withRacks(options);
        // simulate throws if a block is missing or a queue is not empty.
        const { trace, transfers, messages } = simulate({ ...checked, trace: true });
        const received = trace!.filter((record) => record.received !== null);
        expect(received).toHaveLength(transfers);
        expect(trace!.filter((record) => record.finished !== null)).toHaveLength(transfers);
        expect(messages).toHaveLength(checked.messages! * checked.senders!);
        for (const { sentAt, completeAt } of messages) expect(completeAt).toBeGreaterThan(sentAt);
        for (const { posted, started, finished } of trace!) {
          if (finished === null) continue;
          expect(started).toBeGreaterThanOrEqual(posted!);
          expect(finished).toBeGreaterThanOrEqual(started!);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('share the ports: n senders together are faster than one after the other', () => {
    const options: SimulateOptions = {
      cluster: 'fractus',
      nodes: 6,
      byteLength: 2 ** 24,
      blockBytes: 2 ** 18,
    };
    const one = simulate(options);
    const all = simulate({ ...options, senders: 6 });
    expect(all.gbitPerSecond).toBeGreaterThan(one.gbitPerSecond);
    // Each member receives the messages of the five others.
    expect(all.gbitPerSecond).toBeLessThanOrEqual((100 * 6) / 5);
  });

  it('get what the uplinks carry behind an oversubscribed switch', () => {
    // Two racks of four; each member can send at 56 Gbit/s, and has 16 Gbit/s of its rack's uplink.
    const racks = [0, 1, 0, 1, 0, 1, 0, 1];
    const options = { cluster: 'apt', nodes: 8, byteLength: 2 ** 22, blockBytes: 2 ** 18, senders: 8, racks };
    const apt = simulate(options);
    const flat = simulate({ ...options, racks: Array<number>(8).fill(0) });
    expect(apt.gbitPerSecond).toBeLessThan(flat.gbitPerSecond);
    // The time in which the busiest uplink carries its blocks at its rate; the run cannot be faster, and is nearly as fast.
    const blocks = Math.max(...apt.racks.map(({ entering, leaving }) => Math.max(entering, leaving)));
    const least = (blocks * 2 ** 18) / (4 * 16 * 125);
    expect(apt.microseconds).toBeGreaterThan(least);
    expect(apt.microseconds).toBeLessThan(1.1 * least);
  });

  it('take a step of 238.1 us on stampede, to which its bandwidth was fitted', () => {
    const { trace } = simulate({
      cluster: 'stampede',
      nodes: 4,
      byteLength: 2 ** 28,
      windows: 'paper',
      trace: true,
    });
    const blocks = trace!.filter(({ node, received }) => node === 3 && received !== null);
    const [first, last] = [blocks[0]!, blocks.at(-1)!];
    expect((last.received! - first.received!) / (last.step - first.step)).toBeCloseTo(238.1, 1);
  });

  it('go on during a preemption where NICs relay, until the announced receives are full', () => {
    const options: SimulateOptions = {
      cluster: 'stampede',
      nodes: 3,
      algorithm: 'chain',
      byteLength: 2 ** 25,
      windowMs: Number.POSITIVE_INFINITY,
    };
    // Longer than it takes to send a block, and shorter than the blocks take whose relays are posted.
    const preemptions = [{ node: 1, at: 2000, lasts: 1500 }];
    const lost = (relay: 'worker' | 'device'): number =>
      simulate({ ...options, relay, preemptions }).microseconds -
      simulate({ ...options, relay }).microseconds;
    expect(lost('worker')).toBeGreaterThan(1000);
    expect(lost('device')).toBeLessThan(100);
  });

  it('say what a preempted relay makes the root wait for', () => {
    const options: SimulateOptions = {
      cluster: 'stampede',
      nodes: 4,
      byteLength: 2 ** 25,
      windows: 'paper',
      trace: true,
      preemptions: [{ node: 1, at: 4000, lasts: 400 }],
    };
    const { trace } = simulate(options);
    const waits = trace!.filter(({ node, waitedFor, waitedForNode }) => {
      return node === 0 && waitedFor === 'ready' && waitedForNode === 1;
    });
    expect(waits.some(({ posted }) => posted! > 4400)).toBe(true);
  });
});
