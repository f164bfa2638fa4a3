import { presets, type SimulationReport, type TraceRecord } from '@rdmc/simulator';
import {
  farthest,
  type MeasuredSteps,
  measuredBreakdown,
  measuredSteps,
  receivesAt,
} from '../../benchmark/steps.js';
import type { Outcome, Panel } from '../../record/record.js';
import { type Reports, simulated } from '../../simulation/sweep.js';
import { grouped, MIB, rounded } from '../../simulation/values.js';
import type { Figure } from '../figure.js';

const ID = 'rdmc-table-1';
const RUN = '256 MiB on Stampede, n=4';
const ROWS = [
  ['Remote Setup', 11],
  ['Remote Block Transfers', 461],
  ['Local Setup', 4],
  ['Block Transfers', 60_944],
  ['Waiting', 449],
  ['Copy Time', 215],
  ['Total', 62_084],
] as const;

/** Receives of a node with the sender's record of each, in the order in which they arrived. */
export function receivesOf(
  trace: readonly TraceRecord[],
  node: number,
): { started: number; received: number }[] {
  const sends = new Map(trace.map((record) => [`${record.node} ${record.step}`, record]));
  return trace
    .filter((record) => record.node === node && record.received !== null)
    .map(({ receiveFrom, step, received }) => ({
      started: sends.get(`${receiveFrom} ${step}`)!.started!,
      received: received!,
    }))
    .sort((a, b) => a.received - b.received);
}

/** The member whose first block arrives last. */
export function farthestOf(trace: readonly TraceRecord[]): number {
  const nodes = [...new Set(trace.map(({ node }) => node))].filter((node) => node !== 0);
  const first = (node: number) => receivesOf(trace, node)[0]!.received;
  return nodes.reduce((a, b) => (first(b) > first(a) ? b : a));
}

/** The rows of Table 1, in its order, in microseconds. */
export function breakdown({ trace, microseconds }: SimulationReport): number[] {
  const { copyMiB, incomingSetUp } = presets.get('stampede')!.host;
  const receives = receivesOf(trace!, farthestOf(trace!));
  const remoteSetUp = Math.min(...trace!.flatMap(({ started }) => started ?? []));
  const remote = receives[0]!.received - remoteSetUp;
  const blocks = receives.slice(1).reduce((sum, { started, received }) => sum + received - started, 0);
  const known = [remoteSetUp, remote, incomingSetUp, blocks, copyMiB];
  const waiting = microseconds - known.reduce((sum, each) => sum + each, 0);
  return [remoteSetUp, remote, incomingSetUp, blocks, waiting, copyMiB, microseconds];
}

/** The parts of a transfer, as a table. */
function partsPanel(
  head: Pick<Panel, 'title' | 'description'>,
  { unit, digits }: { readonly unit: string; readonly digits: number },
  columns: readonly { readonly name: string; readonly values: readonly number[]; readonly own?: boolean }[],
): Panel {
  return {
    ...head,
    kind: 'table',
    x: { label: 'part', values: ROWS.map(([name]) => name) },
    y: { label: unit, scale: 'linear', digits },
    series: columns.map(({ values, ...rest }) => ({
      ...rest,
      values: values.map((value) => rounded(value, digits)),
    })),
  };
}

/** Each part in percent of the last one, which is the whole. */
const shares = (parts: readonly number[]) => parts.map((value) => (100 * value) / parts.at(-1)!);

const MICROSECONDS = { unit: 'microseconds', digits: 0 };
const OF_PAPER = ROWS.map(([, value]) => value);

/** The mean time from one block to the next at the farthest member. */
function interval({ trace }: SimulationReport): number {
  const receives = receivesOf(trace!, farthestOf(trace!));
  return (receives.at(-1)!.received - receives[0]!.received) / (receives.length - 1);
}

function outcome(reports: Reports): Outcome {
  const ours = breakdown(reports.of(RUN));
  const [, remote = 0, , blocks = 0, , , total = 1] = ours;
  return {
    panels: [
      partsPanel(
        {
          title: 'Microseconds of one transfer of 256 MiB, at the farthest member',
          description: 'Four members on Stampede, blocks of 1 MiB, the windows of the paper.',
        },
        MICROSECONDS,
        [
          { name: 'simulated', values: ours, own: true },
          { name: 'paper', values: OF_PAPER },
        ],
      ),
    ],
    facts: {
      total: `${grouped(total)} µs`,
      step: `${interval(reports.of(RUN)).toFixed(1)} µs`,
      share: `${((100 * (remote + blocks)) / total).toFixed(1)}%`,
    },
    notes: [
      'The bandwidth of Stampede was fitted until a block arrived every 238.1 µs, and the copy and the local set-up are inputs. So ' +
        'the total says little; the share of the transfers does.',
      'Waiting is what remains of the total. It has the turns of the threads between two blocks, which the paper seems to count as ' +
        'a part of the blocks. No member is preempted in this run.',
    ],
    missing: [],
  };
}

/** Of real members. Exported for tests. */
export function measuredOutcome(steps: MeasuredSteps): Pick<Outcome, 'panels' | 'facts'> {
  const ours = measuredBreakdown(steps);
  const [, remote = 0, , blocks = 0, , , total = 1] = ours;
  const receives = receivesAt(steps, farthest(steps).id);
  const step = (receives.at(-1)!.ended - receives[0]!.ended) / (receives.length - 1);
  return {
    panels: [
      partsPanel(
        {
          title: 'Share of one transfer of 256 MiB, at the farthest member',
          description: 'Percent of the whole. Four members, blocks of 1 MiB, the windows of the paper.',
        },
        { unit: 'percent', digits: 2 },
        [
          { name: 'measured', values: shares(ours), own: true },
          { name: 'paper', values: shares(OF_PAPER) },
        ],
      ),
      partsPanel(
        {
          title: 'Microseconds of that transfer',
          description: 'The links of the paper are 40 times as fast.',
        },
        MICROSECONDS,
        [{ name: 'measured', values: ours, own: true }],
      ),
    ],
    facts: {
      total: `${grouped(total)} µs (links of 1 Gbit/s)`,
      step: `${grouped(step)} µs (links of 1 Gbit/s)`,
      share: `${((100 * (remote + blocks)) / total).toFixed(1)}%`,
    },
  };
}

export const table1: Figure = {
  id: ID,
  paper: 'rdmc',
  label: 'Table 1',
  title: 'Where the time of one transfer goes',
  shows:
    'The parts of one transfer of 256 MB to a group of 4 on Stampede, at the node farthest from the root.',
  facts: [
    { id: 'total', quantity: 'the whole transfer', paper: '62,084 µs', origin: 'text' },
    { id: 'step', quantity: 'from one block to the next', paper: '238.1 µs', origin: 'model' },
    { id: 'share', quantity: 'share of block transfers', paper: 'roughly 99%', origin: 'text' },
  ],
  ways: [
    simulated({
      figure: ID,
      kind: 'calibrated',
      how: 'The simulator with the preset stampede and the windows of the paper, from the trace of the farthest member.',
      minutes: 1,
      runs: () =>
        new Map([
          [RUN, { cluster: 'stampede', nodes: 4, byteLength: 256 * MIB, windows: 'paper', trace: true }],
        ]),
      outcome,
    }),
    measuredSteps(measuredOutcome),
  ],
};
