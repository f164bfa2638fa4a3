/* The known results of the simulator. RDMC_TEST_LONG=1 runs all sizes, otherwise a seeded sample. */
import { type Algorithm, algorithms, averageSlack, createSchedule } from '@rdmc/schedule';
import { Random } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { validate } from '../src/index.js';
import { delayCheck, slackCheck, transfersOfSchedule } from '../src/validation/delay.js';
import { ideal, runIdeal } from '../src/validation/ideal.js';
import { rackChecks, rackList } from '../src/validation/racks.js';
import { balanceChecks, diskChecks, replayChecks } from '../src/validation/recovery.js';
import { repeatCheck } from '../src/validation/repeat.js';
import { slowLinkShareCheck, slowLinkTimeCheck } from '../src/validation/slow-link.js';
import { countedAlgorithms, stepsCheck } from '../src/validation/steps.js';
import { expectAll } from './support/checks.js';

const long = process.env.RDMC_TEST_LONG === '1';
const seed = Number(process.env.RDMC_TEST_SEED ?? 1);
const MOST = 64;
const flat: readonly Algorithm[] = algorithms.filter((name) => name !== 'hybrid');

/** All n and k to 64, or a sample in which the extremes are. */
function sizes(): [nodes: number, blocks: number][] {
  if (long) {
    return Array.from({ length: MOST - 1 }, (_, n) =>
      Array.from({ length: MOST }, (_, k): [number, number] => [n + 2, k + 1]),
    ).flat();
  }
  const random = new Random(seed);
  const sample = Array.from({ length: 30 }, (): [number, number] => [
    2 + random.below(63),
    1 + random.below(64),
  ]);
  return [[2, 1], [2, 64], [64, 1], [64, 64], [63, 2], ...sample];
}

describe('1. without overhead, windows 1/1', () => {
  it.each(countedAlgorithms)(`%s takes the steps of its formula (RDMC_TEST_SEED=${seed})`, (algorithm) => {
    expectAll(sizes().map(([nodes, blocks]) => stepsCheck(algorithm, nodes, blocks)));
  });
});

describe('3. one slow link', () => {
  it.each(flat)('%s takes the time of the walk through its schedule', (algorithm) => {
    const random = new Random(seed);
    const cases = Array.from({ length: long ? 400 : 30 }, () => {
      const nodes = 2 + random.below(30);
      const a = random.below(nodes);
      const b = (a + 1 + random.below(nodes - 1)) % nodes;
      return { nodes, blocks: 1 + random.below(40), a, b, ratio: 1 / 2 ** random.below(4) };
    });
    expectAll(cases.map((slow) => slowLinkTimeCheck(algorithm, slow)));
  });

  it.each(['single', 'shipped'] as const)('keeps the share of section 4.5 with windows %s', (windows) => {
    const checks = [4, 8, 16, 32].flatMap((nodes) => {
      const l = Math.log2(nodes);
      // k + l − 1 is a multiple of l: the bound counts whole turns.
      const blocks = 12 * l + 1;
      return Array.from({ length: l }, (_, dimension) =>
        [0.25, 0.5, 0.8].map((ratio) => ({ dimension, ratio })),
      )
        .flat()
        .map(({ dimension, ratio }) => {
          return slowLinkShareCheck(windows, { nodes, blocks, a: 1, b: 1 ^ (1 << dimension), ratio });
        });
    });
    expectAll(checks);
  });

  it('approaches that share for long messages, windows 1/1', () => {
    const slow = { nodes: 16, a: 5, b: 7, ratio: 0.5 };
    const excess = [10, 100, 1000].map((turns) => {
      const { found, expected } = slowLinkShareCheck('single', { ...slow, blocks: 4 * turns + 1 });
      return found - expected;
    });
    expect(excess[2]).toBeLessThan(excess[1]!);
    expect(excess[1]).toBeLessThan(excess[0]!);
    expect(excess[2]).toBeLessThan(0.001);
  });
});

describe('4. delay and slack', () => {
  it.each(flat)('%s: one delay of any block costs at most itself', (algorithm) => {
    const cases = long
      ? [
          [8, 8],
          [13, 5],
          [16, 6],
        ]
      : [
          [8, 4],
          [6, 3],
        ];
    for (const [nodes, blocks] of cases as [number, number][]) {
      const transfers = transfersOfSchedule(algorithm, nodes, blocks);
      expectAll(transfers.map((one) => delayCheck(algorithm, { nodes, blocks, lasts: 0.7 }, one)));
    }
  });

  it('the mean slack is 1, 1.333, 1.571, 1.839 and 1.969', () => {
    const checks = [4, 8, 16, 64, ...(long ? [512] : [])].map(slackCheck);
    expectAll(checks);
    const rounded = checks.map(({ found }) => found.toFixed(3));
    expect(['1.000', '1.333', '1.571', '1.839', '1.969']).toEqual(expect.arrayContaining(rounded));
  });

  it('the slack of each step of a trace is that of the schedule', () => {
    const [nodes, blocks] = [12, 20];
    const schedule = createSchedule({ algorithm: 'binomial-pipeline', nodes, blocks });
    const { trace } = runIdeal({ nodes, blocks, trace: true });
    const received = new Map(trace!.map((r) => [`${r.node} ${r.receiveBlock}`, r.received]));
    for (let step = 0; step < schedule.steps; step += 1) {
      const relayed = trace!.filter((r) => r.step === step && r.node !== 0 && r.started !== null);
      const slack = relayed.map((r) => step + 1 - received.get(`${r.node} ${r.sendBlock}`)!);
      const expected = averageSlack(schedule, step);
      if (expected === undefined) expect(relayed).toEqual([]);
      else expect(slack.reduce((a, b) => a + b, 0) / slack.length).toBeCloseTo(expected, 9);
    }
  });
});

describe('5. racks', () => {
  it.each([
    [2, 8],
    [3, 5],
    [4, 4],
    [8, 8],
  ])('%i racks of %i are crossed as the schedule says', (count, size) => {
    const racks = rackList(count, size);
    for (const algorithm of algorithms) {
      for (const blocks of [1, 7, 32]) expectAll(rackChecks(algorithm, { racks, blocks }));
    }
  });

  it('hybrid is faster where racks share an uplink', () => {
    const racks = rackList(4, 4);
    // An uplink as wide as one port.
    const times = (['binomial-pipeline', 'hybrid'] as const).map((algorithm) => {
      const cluster = { ...ideal(), uplinkGbitPerMember: 2 };
      return runIdeal({ nodes: 16, blocks: 100, algorithm, racks, cluster }).microseconds;
    });
    expect(times[0]! / times[1]!).toBeGreaterThan(1.5);
  });
});

describe('6. conservation', () => {
  it('the same seed gives the same trace, and another seed another one', () => {
    expectAll([1, 2, 3].map(repeatCheck));
  });
});

describe('7. recovery', () => {
  it('takes the time of its only slow resource, shared out evenly', () => {
    // Powers of two, so that the slots are shared out equally.
    for (const servers of [1, 2, 4, 8, 16]) expectAll([...replayChecks(servers), ...diskChecks(servers)]);
  });

  it('gives no server more than 1.3 times its share, and twice the servers take 1.6 times less', () => {
    expectAll(balanceChecks([2, 4, 8]));
  });
});

describe('validate', () => {
  it('has all properties', () => {
    const cases = validate();
    expect(cases).toHaveLength(8);
    for (const { checks } of cases) expect(checks).toBeGreaterThan(0);
  });
});
