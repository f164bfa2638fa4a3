import { expectedSlack, slowLinkBound } from '@rdmc/schedule';
import { idealCluster, type SimulateOptions, type SimulationReport } from '@rdmc/simulator';
import { slowLinkOnNetlab } from '../../benchmark/slow-link.js';
import type { Outcome } from '../../record/record.js';
import { type Reports, simulated } from '../../simulation/sweep.js';
import { line, MIB, rounded } from '../../simulation/values.js';
import type { Figure, Runs } from '../figure.js';

const ID = 'rdmc-section-4-5';
const MEMBERS = [4, 8, 16, 32, 64];
const RATIO = 0.5;
const BLOCKS = 256;
const DELAY_US = 500;
const CASES = [
  { name: 'pipeline, windows 1/1', windows: 'single', algorithm: 'binomial-pipeline' },
  { name: 'pipeline, shipped windows', windows: 'shipped', algorithm: 'binomial-pipeline' },
  { name: 'chain, shipped windows', windows: 'shipped', algorithm: 'chain' },
] as const;
/** Neighbours in both schedules: they differ in one bit, and one follows the other. */
const SLOW = { a: 2, b: 3, ratio: RATIO };

const key = (name: string, link: string, nodes: number) => `${name}, ${link}, n=${nodes}`;

/** Only bytes take time, so that the numbers are those of the schedule. */
const COMMON = { cluster: idealCluster(32), byteLength: BLOCKS * MIB };

function runs(): Runs {
  const all = new Map<string, SimulateOptions>();
  for (const nodes of MEMBERS) {
    for (const { name, windows, algorithm } of CASES) {
      const trace = name === CASES[0].name;
      all.set(key(name, 'equal links', nodes), { ...COMMON, nodes, windows, algorithm, trace });
      all.set(key(name, 'one slow link', nodes), { ...COMMON, nodes, windows, algorithm, slowLinks: [SLOW] });
    }
    const delays = [{ from: 0, to: 1, block: 0, lasts: DELAY_US }];
    all.set(key('pipeline', 'one delay', nodes), { ...COMMON, nodes, windows: 'single', delays });
  }
  return all;
}

/** The mean time from the arrival of a block to its sending, in steps: of the steady steps. */
function meanSlack({ trace, microseconds, steps }: SimulationReport, nodes: number): number {
  const step = microseconds / steps;
  const dimensions = Math.log2(nodes);
  const received = new Map<string, number>();
  for (const record of trace!) {
    if (record.received !== null) received.set(`${record.node} ${record.receiveBlock}`, record.received);
  }
  const slacks = trace!
    .filter((record) => record.node !== 0 && record.started !== null)
    .filter((record) => record.step >= dimensions && record.step < BLOCKS)
    .map(
      ({ node, sendBlock, started }) => started! / step - (received.get(`${node} ${sendBlock}`)! / step - 1),
    );
  return slacks.reduce((sum, each) => sum + each, 0) / slacks.length;
}

function outcome(reports: Reports): Outcome {
  const kept = (name: string, nodes: number) =>
    reports.milliseconds(key(name, 'equal links', nodes)) /
    reports.milliseconds(key(name, 'one slow link', nodes));
  const later = (nodes: number) =>
    1000 *
    (reports.milliseconds(key('pipeline', 'one delay', nodes)) -
      reports.milliseconds(key(CASES[0].name, 'equal links', nodes)));
  const slack = (nodes: number) => meanSlack(reports.of(key(CASES[0].name, 'equal links', nodes)), nodes);
  return {
    panels: [
      {
        title: 'Share of the bandwidth that one link of half the rate leaves',
        description: `${BLOCKS} blocks; the formula is lT′/(T + (l − 1)T′). Higher is better.`,
        kind: 'lines',
        x: { label: 'members', scale: 'log2', values: MEMBERS },
        y: { label: 'share of the bandwidth', scale: 'linear', digits: 3 },
        series: [
          ...CASES.map(({ name }) => ({ ...line(name, MEMBERS, 3, (n) => kept(name, n)), own: true })),
          line('the formula: at least', MEMBERS, 3, (n) => slowLinkBound(n, RATIO)),
        ],
      },
      {
        title: 'Mean slack, in steps',
        description:
          'How long before its sending a block arrived, in the steady steps of the pipeline with windows 1/1.',
        kind: 'table',
        x: { label: 'members', values: MEMBERS },
        y: { label: 'steps', scale: 'linear', digits: 3 },
        series: [
          { ...line('from the trace', MEMBERS, 3, slack), own: true },
          line('the formula', MEMBERS, 3, expectedSlack),
        ],
      },
      {
        title: `By how much one send that is delayed by ${DELAY_US} µs makes the whole later`,
        description: 'The first send of the root, windows 1/1; the paper: at most the delay.',
        kind: 'table',
        x: { label: 'members', values: MEMBERS },
        y: { label: 'microseconds', scale: 'linear', digits: 0 },
        series: [{ ...line('later by', MEMBERS, 0, later), own: true }],
      },
    ],
    facts: {
      kept: `${(100 * kept(CASES[0].name, 64)).toFixed(1)}% (windows 1/1), ${(100 * kept(CASES[1].name, 64)).toFixed(1)}% (shipped)`,
      chain: `${(100 * kept(CASES[2].name, 64)).toFixed(1)}%`,
      slack: MEMBERS.map((n) => rounded(slack(n), 3)).join(' / '),
      delay: `${Math.max(...MEMBERS.map(later)).toFixed(0)} µs`,
    },
    notes: ['Only bytes take time in these runs: the results are those of the schedule and of the windows.'],
    missing: [],
  };
}

export const section45: Figure = {
  id: ID,
  paper: 'rdmc',
  label: 'Section 4.5',
  title: 'Slow links, delays and slack',
  shows:
    'With one slow link of rate T′ the pipeline keeps at least lT′/(T + (l − 1)T′) of its bandwidth, a chain only T′/T. One ' +
    'delay costs at most itself. The average slack of a steady step is 2(1 − (l − 1)/(n − 2)).',
  facts: [
    {
      id: 'kept',
      quantity: 'share kept, T′ = T/2, n = 64',
      paper: '85.6% (its formula: 85.7%)',
      origin: 'text',
    },
    { id: 'chain', quantity: 'chain, the same', paper: '50%', origin: 'model' },
    {
      id: 'slack',
      quantity: 'slack, n = 4 / 8 / 16 / 32 / 64',
      paper: '1 / 1.333 / 1.571 / 1.733 / 1.839',
      origin: 'model',
    },
    {
      id: 'delay',
      quantity: `a delay of ${DELAY_US} µs costs`,
      paper: `at most ${DELAY_US} µs`,
      origin: 'text',
    },
  ],
  ways: [
    simulated({
      figure: ID,
      kind: 'predicted',
      how: 'The simulator on hardware on which only bytes take time, at 32 Gbit/s.',
      minutes: 3,
      runs,
      outcome,
    }),
    slowLinkOnNetlab(),
    {
      id: 'recorded',
      name: 'network namespaces, 400 Mbit/s',
      kind: 'measured',
      how: 'Real processes in network namespaces, 64 MiB, one path at half of 400 Mbit/s.',
      command: 'node tools/bench/network/run.mjs slow-link',
      minutes: 8,
      rivals: [],
      needsRoot: true,
    },
  ],
};
