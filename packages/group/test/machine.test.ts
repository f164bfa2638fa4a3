import { algorithms } from '@rdmc/schedule';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OPEN_MESSAGES } from '../src/constants.js';
import { Counter } from '../src/worker/counters.js';
import { type Outcome, type Simulation, simulate } from './support/simulated-group.js';

const MAX_BLOCK = 16;

function expectDelivered(simulation: Simulation): Outcome {
  const outcome = simulate(simulation);
  const all = simulation.messages.map((_, index) => index);
  expect(outcome.corrupt).toEqual([]);
  expect(outcome.finished).toEqual(Array.from({ length: simulation.nodes }, () => all));
  expect(outcome.mostReceives).toBeLessThanOrEqual(simulation.receiveWindow);
  const { limits, readyTokens, receiveWindow, sendWindow, relaysAhead = 0 } = simulation;
  const ready = limits && limits.ready < receiveWindow ? limits.ready : (readyTokens ?? receiveWindow);
  expect(outcome.mostAnnounced).toBeLessThanOrEqual(ready);
  const sends = Math.min(sendWindow, limits?.sends ?? sendWindow);
  expect(outcome.mostSends).toBeLessThanOrEqual(sends + Math.min(relaysAhead, limits?.ready ?? relaysAhead));
  expect(outcome.mostOpen).toBeLessThanOrEqual(OPEN_MESSAGES);
  // Longer blocks arrive in their place: their header went ahead.
  const { bufferBytes = simulation.maxBlockBytes } = simulation;
  const copied = simulation.messages.filter(
    ({ byteLength, blockBytes }) => byteLength > 0 && Math.min(byteLength, blockBytes) <= bufferBytes,
  ).length;
  expect(outcome.copies).toEqual(
    Array.from({ length: simulation.nodes }, (_, rank) => (rank === 0 ? 0 : copied)),
  );
  return outcome;
}

const groups = fc.record({
  algorithm: fc.constantFrom(...algorithms),
  nodes: fc.integer({ min: 2, max: 20 }),
  receiveWindow: fc.integer({ min: 1, max: 9 }),
  sendWindow: fc.integer({ min: 1, max: 4 }),
  readyTokens: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
  relaysAhead: fc.integer({ min: 0, max: 9 }),
  loopBack: fc.boolean(),
  bufferBytes: fc.constantFrom(1, 4, MAX_BLOCK, MAX_BLOCK),
  buffers: fc.integer({ min: 1, max: OPEN_MESSAGES }),
  limits: fc.option(
    fc.record({ sends: fc.integer({ min: 1, max: 5 }), ready: fc.integer({ min: 1, max: 9 }) }),
    {
      nil: undefined,
    },
  ),
  seed: fc.integer({ min: 0, max: 0xffff_ffff }),
  racks: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 20, maxLength: 20 }),
  messages: fc.array(
    fc.record({
      byteLength: fc.oneof(
        fc.integer({ min: 0, max: 200 }),
        fc.constantFrom(0, 1, MAX_BLOCK - 1, MAX_BLOCK, MAX_BLOCK + 1),
      ),
      blockBytes: fc.constantFrom(1, 3, 7, MAX_BLOCK),
    }),
    { minLength: 1, maxLength: 7 },
  ),
});

/** RDMC_TEST_LONG=1: more. */
const RUNS = process.env.RDMC_TEST_LONG === '1' ? 1000 : 150;

describe('GroupMachine over a simulated wire', () => {
  it('gives every member every message once, in order, with any interleaving', () => {
    fc.assert(
      fc.property(groups, ({ racks, ...group }) => {
        expectDelivered({ ...group, racks: racks.slice(0, group.nodes), maxBlockBytes: MAX_BLOCK });
      }),
      { numRuns: RUNS },
    );
  });

  // Random groups find this in one of some hundred.
  it('keeps the only buffer of a first block while a send reads from it', () => {
    expectDelivered({
      ...{ algorithm: 'chain', nodes: 9, seed: 2 },
      ...{ receiveWindow: 3, sendWindow: 1, readyTokens: undefined, relaysAhead: 1, limits: undefined },
      ...{ loopBack: false, bufferBytes: 16, buffers: 1, maxBlockBytes: MAX_BLOCK },
      messages: [
        { byteLength: 15, blockBytes: 7 },
        { byteLength: 1, blockBytes: 1 },
      ],
    });
  });

  it.each(algorithms)('%s: works with the smallest windows for every n to 17', (algorithm) => {
    for (let nodes = 2; nodes <= 17; nodes += 1) {
      expectDelivered({
        algorithm,
        nodes,
        racks: Array.from({ length: nodes }, (_, rank) => rank % 3),
        messages: [
          { byteLength: 65, blockBytes: 8 },
          { byteLength: 0, blockBytes: 8 },
          { byteLength: 8, blockBytes: 8 },
          { byteLength: 9, blockBytes: 8 },
        ],
        maxBlockBytes: 8,
        receiveWindow: 1,
        sendWindow: 1,
        seed: nodes,
      });
    }
  });

  it.each(algorithms)('%s: headers go ahead with the smallest windows and one buffer', (algorithm) => {
    for (let nodes = 2; nodes <= 17; nodes += 1) {
      expectDelivered({
        algorithm,
        nodes,
        racks: Array.from({ length: nodes }, (_, rank) => rank % 3),
        messages: [65, 0, 8, 5, 9, 40].map((byteLength) => ({ byteLength, blockBytes: 8 })),
        maxBlockBytes: 8,
        ...{ bufferBytes: 5, buffers: 1, receiveWindow: 1, sendWindow: 1, seed: nodes },
      });
    }
  });

  it('counts blocks, bytes and one block copy per message', () => {
    const sizes = [100, 16, 0];
    const { counters } = simulate({
      algorithm: 'binomial-pipeline',
      nodes: 4,
      messages: sizes.map((byteLength) => ({ byteLength, blockBytes: MAX_BLOCK })),
      maxBlockBytes: MAX_BLOCK,
      receiveWindow: 4,
      sendWindow: 2,
      seed: 1,
    });
    for (const receiver of counters.slice(1)) {
      expect(receiver[Counter.BLOCKS_RECEIVED]).toBe(7 + 1 + 1);
      expect(receiver[Counter.BYTES_RECEIVED]).toBe(116);
      expect(receiver[Counter.BYTES_EXPECTED]).toBe(116);
      expect(receiver[Counter.MESSAGES_RECEIVED]).toBe(3);
      expect(receiver[Counter.FIRST_BLOCK_COPIES]).toBe(2);
    }
    expect(counters[0]![Counter.MESSAGES_SENT]).toBe(3);
    const sent = counters.reduce((sum, one) => sum + one[Counter.BYTES_SENT]!, 0);
    expect(sent).toBe(3 * 116);
  });

  it.each(['chain', 'binomial-pipeline'] as const)(
    '%s: devices relay ahead, with fewer turns',
    (algorithm) => {
      const simulation = {
        algorithm,
        nodes: 4,
        messages: [{ byteLength: 300, blockBytes: 1 }],
        maxBlockBytes: 1,
        receiveWindow: 16,
        sendWindow: 4,
        seed: 7,
      };
      const worker = expectDelivered(simulation);
      const device = expectDelivered({ ...simulation, relaysAhead: 16 });
      expect(worker.relayedAhead).toEqual([0, 0, 0, 0]);
      expect(device.relayedAhead.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(100);
      const turns = (outcome: Outcome) => outcome.turns.slice(1).reduce((sum, each) => sum + each, 0);
      expect(turns(device)).toBeLessThan(turns(worker));
    },
  );

  it.each(algorithms)('%s: devices relay with the smallest windows', (algorithm) => {
    for (const nodes of [2, 3, 4, 5, 8, 11, 16]) {
      expectDelivered({
        algorithm,
        nodes,
        racks: Array.from({ length: nodes }, (_, rank) => rank % 3),
        messages: [65, 0, 8, 9].map((byteLength) => ({ byteLength, blockBytes: 8 })),
        maxBlockBytes: 8,
        receiveWindow: 1,
        sendWindow: 1,
        relaysAhead: 1,
        seed: nodes,
      });
    }
  });

  it('reads long plans in chunks', () => {
    expectDelivered({
      algorithm: 'binomial-tree',
      nodes: 4,
      messages: [{ byteLength: 40_000, blockBytes: 1 }],
      maxBlockBytes: 1,
      receiveWindow: 8,
      sendWindow: 2,
      seed: 5,
    });
  });
});
