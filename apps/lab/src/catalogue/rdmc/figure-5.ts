import { type SimulateOptions, type SimulationReport, simulate, type TraceRecord } from '@rdmc/simulator';
import { failed } from '../../benchmark/command.js';
import {
  type MeasuredSteps,
  measuredSteps,
  stepPanels,
  stopPanels,
  stoppedSteps,
} from '../../benchmark/steps.js';
import type { Outcome } from '../../record/record.js';
import { type Reports, simulated } from '../../simulation/sweep.js';
import { grouped, MIB, rounded } from '../../simulation/values.js';
import type { Figure, Runs } from '../figure.js';
import { farthestOf, receivesOf } from './table-1.js';

const ID = 'rdmc-5';
const WHOLE = 'without a preemption';
const PREEMPTED = 'the relay is preempted for 100 us';
const PREEMPTION = 100;
/** Near the end of 258 steps, as in the paper. */
const BLOCK = 243;
/** Steps that are drawn, around that one. */
const SHOWN = 24;

const OPTIONS: SimulateOptions = {
  cluster: 'stampede',
  nodes: 4,
  byteLength: 256 * MIB,
  windows: 'paper',
  trace: true,
};

/** One step of a member: the block on the wire, and the time before it. */
interface Step {
  readonly transfer: number;
  readonly wait: number;
}

/** Sends of the root. */
export function sendSteps(trace: readonly TraceRecord[], node: number): Step[] {
  const sends = trace
    .filter((record) => record.node === node && record.started !== null)
    .map(({ started, finished }) => ({ started: started!, ended: finished! }))
    .sort((a, b) => a.started - b.started);
  return stepsOf(sends);
}

/** Receives of the relay. */
export function receiveSteps(trace: readonly TraceRecord[], node: number): Step[] {
  return stepsOf(receivesOf(trace, node).map(({ started, received }) => ({ started, ended: received })));
}

function stepsOf(blocks: readonly { readonly started: number; readonly ended: number }[]): Step[] {
  return blocks.map(({ started, ended }, index) => ({
    transfer: ended - started,
    wait: Math.max(0, started - (index === 0 ? 0 : blocks[index - 1]!.ended)),
  }));
}

/** The second run depends on the first: the preemption begins just before a block arrives at the relay. */
function runs(): Runs {
  const { trace } = simulate(OPTIONS);
  const relay = farthestOf(trace!);
  const { received } = receivesOf(trace!, relay)[BLOCK]!;
  const preemptions = [{ node: relay, at: received - 1, lasts: PREEMPTION }];
  return new Map([
    [WHOLE, OPTIONS],
    [PREEMPTED, { ...OPTIONS, preemptions }],
  ]);
}

function panelOf(title: string, steps: readonly Step[]): Outcome['panels'][number] {
  const first = BLOCK - SHOWN / 2;
  const shown = steps.slice(first, first + SHOWN);
  return {
    title,
    description: `Microseconds on the wire and before it, for blocks ${first} to ${first + shown.length - 1} of 256.`,
    kind: 'lines',
    x: { label: 'block, in order', values: shown.map((_, index) => first + index) },
    y: { label: 'microseconds', scale: 'linear', digits: 1 },
    series: [
      { name: 'transfer', values: shown.map(({ transfer }) => rounded(transfer, 1)), own: true },
      { name: 'wait', values: shown.map(({ wait }) => rounded(wait, 1)) },
    ],
  };
}

/** The longest wait around the preemption. */
function longest(steps: readonly Step[]): number {
  return Math.max(...steps.slice(BLOCK - SHOWN / 2).map(({ wait }) => wait));
}

function shareOf(report: SimulationReport): number {
  const steps = receiveSteps(report.trace!, farthestOf(report.trace!));
  return (100 * steps.reduce((sum, { transfer }) => sum + transfer, 0)) / report.microseconds;
}

function outcome(reports: Reports): Outcome {
  const report = reports.of(PREEMPTED);
  const trace = report.trace!;
  const root = sendSteps(trace, 0);
  const relay = receiveSteps(trace, farthestOf(reports.of(WHOLE).trace!));
  const later = report.microseconds - reports.of(WHOLE).microseconds;
  return {
    panels: [panelOf('The root, as sender', root), panelOf('The relay, as receiver', relay)],
    facts: {
      wait: `root ${longest(root).toFixed(0)} µs, relay ${longest(relay).toFixed(0)} µs`,
      share: `${shareOf(report).toFixed(1)}%`,
      later: `${later.toFixed(0)} µs`,
    },
    notes: [`The relay's processor is away for ${PREEMPTION} µs when block ${BLOCK} arrives there.`],
    missing: [],
  };
}

/** Of real members, without a preemption on purpose. Exported for tests. */
export function measuredOutcome(steps: MeasuredSteps): Pick<Outcome, 'panels' | 'facts'> {
  const { panels, longest: waits, share } = stepPanels(steps);
  const [root, relay] = waits;
  return {
    panels,
    facts: {
      wait: `longest of all: root ${grouped(root)} µs, relay ${grouped(relay)} µs; a step is 8,800 µs`,
      share: `${share.toFixed(1)}%`,
    },
  };
}

/** Of real members, one of which was stopped. Exported for tests. @throws LabError ERR_RDMC_BENCHMARK_FAILED */
export function stoppedOutcome(steps: MeasuredSteps): Pick<Outcome, 'panels' | 'facts'> {
  const { stop, milliseconds, before } = steps;
  if (stop === undefined || milliseconds === undefined || before === undefined) {
    throw failed('the benchmark did not stop a member');
  }
  const { panels, longer } = stopPanels(steps, stop);
  const [root, relay] = longer.map(grouped);
  const stopped = `stopped for ${grouped(stop.to - stop.from)} µs`;
  return {
    panels,
    facts: {
      wait: `a step longer by: root ${root} µs, relay ${relay} µs; ${stopped}, a step is 8,800 µs`,
      later: `${grouped(1000 * (milliseconds - before))} µs than the message before; ${stopped}`,
    },
  };
}

export const figure5: Figure = {
  id: ID,
  paper: 'rdmc',
  label: 'Figure 5',
  title: 'Transfer and wait of each step',
  shows:
    'The transfer of Table 1 step by step, at the root and at a relay. Near the end a delay of roughly 100 µs at the ' +
    'relay, probably a preemption, makes the root wait in the following step.',
  facts: [
    {
      id: 'wait',
      quantity: 'the long wait after the preemption',
      paper: 'roughly 100 µs at both',
      origin: 'text',
    },
    { id: 'share', quantity: 'share of transfers at the relay', paper: 'roughly 99%', origin: 'text' },
    {
      id: 'later',
      quantity: 'the whole is later by',
      paper: 'at most 100 µs (section 4.5)',
      origin: 'model',
    },
  ],
  ways: [
    simulated({
      figure: ID,
      kind: 'calibrated',
      how: 'The simulator with the preset stampede, whose bandwidth is fitted to Table 1, and one scripted preemption.',
      minutes: 1,
      runs,
      outcome,
    }),
    measuredSteps(measuredOutcome),
    stoppedSteps(stoppedOutcome),
  ],
};
