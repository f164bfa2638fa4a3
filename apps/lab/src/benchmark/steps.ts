import type { Bench, Way } from '../catalogue/figure.js';
import type { Outcome, Panel } from '../record/record.js';
import { median, rounded } from '../simulation/values.js';
import { failed, jsonOf, shown } from './command.js';

const ARGS = ['tools/bench/multicast/run.mjs', 'steps'];
/** A relay is stopped for so long: a bit more than two steps. */
const STOP = { BENCH_STOP_MS: '20' };
/** Blocks that a panel of Figure 5 has. */
const SHOWN = 24;

/** A block on one hop, in microseconds since the root began. */
export interface Transfer {
  readonly from: number;
  readonly to: number;
  readonly block: number;
  readonly started: number;
  readonly finished: number | null;
  readonly received: number | null;
}

/** What happened at a member, in the same microseconds; null: it did not happen. */
export interface MemberTimes {
  readonly id: number;
  readonly began: number | null;
  readonly placed: number | null;
  readonly copied: number | null;
  readonly finished: number | null;
}

/** A member was stopped at that time, and continued at the other. */
export interface Stop {
  readonly member: number;
  readonly from: number;
  readonly to: number;
}

/** One transfer of real members. */
export interface MeasuredSteps {
  readonly dropped: number;
  /** Of the whole message, and of the one before it. Older benchmarks do not print both. */
  readonly milliseconds?: number;
  readonly before?: number;
  readonly stop?: Stop;
  readonly members: readonly MemberTimes[];
  readonly transfers: readonly Transfer[];
}

/** One step: the block on the wire, and the time before it in which there was none. */
export interface Step {
  readonly transfer: number;
  readonly wait: number;
}

/** Times of blocks that follow one another: a block counts from the end of the one before it, if it began earlier. */
export function consecutive(blocks: readonly { readonly started: number; readonly ended: number }[]): Step[] {
  const sorted = [...blocks].sort((a, b) => a.ended - b.ended);
  return sorted.map(({ started, ended }, index) => {
    const before = index === 0 ? started : sorted[index - 1]!.ended;
    return { transfer: ended - Math.max(started, before), wait: Math.max(0, started - before) };
  });
}

/** The receives of a member, in the order in which they arrived. @throws LabError ERR_RDMC_BENCHMARK_FAILED */
export function receivesAt(
  { transfers }: MeasuredSteps,
  member: number,
): { started: number; ended: number }[] {
  const own = transfers.filter(({ to, received }) => to === member && received !== null);
  if (own.length === 0) throw failed(`the trace has no block of member ${member}`);
  return own
    .map(({ started, received }) => ({ started, ended: received! }))
    .sort((a, b) => a.ended - b.ended);
}

/** The member whose first block arrives last. */
export function farthest(steps: MeasuredSteps): MemberTimes {
  const receivers = steps.members.filter(({ id }) => steps.transfers.some(({ to }) => to === id));
  const first = ({ id }: MemberTimes): number => receivesAt(steps, id)[0]!.ended;
  if (receivers.length === 0) throw failed('the trace has no receiver');
  return receivers.reduce((a, b) => (first(b) > first(a) ? b : a));
}

const sum = (steps: readonly Step[], part: keyof Step): number =>
  steps.reduce((total, step) => total + step[part], 0);

/** The parts of Table 1, in its order: microseconds. */
export function measuredBreakdown(steps: MeasuredSteps): number[] {
  const member = farthest(steps);
  const receives = receivesAt(steps, member.id);
  const remoteSetUp = Math.min(...steps.transfers.map(({ started }) => started));
  const remote = receives[0]!.ended - remoteSetUp;
  const { placed, began, copied, finished } = member;
  const localSetUp = placed === null || began === null ? 0 : placed - began;
  const copy = copied === null || placed === null ? 0 : copied - placed;
  const blocks = sum(consecutive(receives).slice(1), 'transfer');
  const total = finished ?? receives.at(-1)!.ended;
  const known = remoteSetUp + remote + localSetUp + blocks + copy;
  return [remoteSetUp, remote, localSetUp, blocks, total - known, copy, total];
}

/** The sends of the root. */
function sendsOfRoot({ transfers }: MeasuredSteps): { started: number; ended: number }[] {
  return transfers
    .filter(({ from, finished }) => from === 0 && finished !== null)
    .map(({ started, finished }) => ({ started, ended: finished! }))
    .sort((a, b) => a.ended - b.ended);
}

/** The two panels of Figure 5, and the longest wait of each in them. */
export function stepPanels(steps: MeasuredSteps): {
  panels: Panel[];
  longest: [number, number];
  share: number;
} {
  const root = consecutive(sendsOfRoot(steps));
  const relay = consecutive(receivesAt(steps, farthest(steps).id));
  const longest = (list: readonly Step[]): number => Math.max(...list.slice(1).map(({ wait }) => wait));
  const share = (100 * sum(relay, 'transfer')) / (sum(relay, 'transfer') + sum(relay, 'wait'));
  return {
    panels: [panelOf('The root, as sender', root), panelOf('The farthest member, as receiver', relay)],
    longest: [longest(root), longest(relay)],
    share,
  };
}

/** The panels around the stop of a relay, and by how much the longest step there is longer than the median one. */
export function stopPanels(steps: MeasuredSteps, stop: Stop): { panels: Panel[]; longer: [number, number] } {
  const sides = [sendsOfRoot(steps), receivesAt(steps, stop.member)].map((blocks) => {
    const found = blocks.findIndex(({ ended }) => ended >= stop.from);
    if (found < 0) throw failed('the member was stopped after the transfer');
    return { all: consecutive(blocks), at: found };
  });
  const [root, relay] = sides as [(typeof sides)[0], (typeof sides)[0]];
  return {
    panels: [around('The root, as sender', root), around('The stopped relay, as receiver', relay)],
    longer: [longerBy(root), longerBy(relay)],
  };
}

/** Steps, and the one in which a member was stopped. */
interface Stopped {
  readonly all: readonly Step[];
  readonly at: number;
}

const around = (title: string, { all, at }: Stopped) => panelOf(title, all, at - SHOWN / 2);

function longerBy({ all, at }: Stopped): number {
  const lengths = all.map(({ transfer, wait }) => transfer + wait);
  return Math.max(...lengths.slice(at, at + SHOWN / 2)) - median(lengths);
}

function panelOf(title: string, steps: readonly Step[], from = steps.length - SHOWN - 1): Panel {
  const first = Math.max(0, Math.min(from, steps.length - SHOWN));
  const shownSteps = steps.slice(first, first + SHOWN);
  return {
    title,
    description: `Microseconds on the link and before it, for blocks ${first} to ${first + shownSteps.length - 1} of ${steps.length}.`,
    kind: 'lines',
    x: { label: 'block, in order', values: shownSteps.map((_, index) => first + index) },
    y: { label: 'microseconds', scale: 'linear', digits: 1 },
    series: [
      { name: 'transfer', values: shownSteps.map(({ transfer }) => rounded(transfer, 1)), own: true },
      { name: 'wait', values: shownSteps.map(({ wait }) => rounded(wait, 1)) },
    ],
  };
}

const NOTES = [
  'Four processes of one host over TCP, each with a link of 1 Gbit/s that the soft device limits; the paper has links of 40 Gbit/s. ' +
    'So a block takes 8.8 ms in place of 238 µs, headers of Ethernet and TCP included.',
  'The first block is not copied: blocks longer than 64 KiB are received in place, and their header goes ahead.',
];

const STOP_NOTES = [
  'A member is stopped by SIGSTOP, which stops its soft device as well: a preemption in the paper leaves the NIC at work. Its sockets ' +
    'take bytes meanwhile.',
];

type FromSteps = (steps: MeasuredSteps) => Pick<Outcome, 'panels' | 'facts'>;

/** A run of the benchmark. @throws LabError for a trace that is not complete */
async function stepsFrom(bench: Bench, env: Readonly<Record<string, string>>): Promise<MeasuredSteps> {
  const command = shown(ARGS, env);
  const { result } = jsonOf<{ result: MeasuredSteps }>(await bench.command(ARGS, env), command);
  if (result.dropped > 0) throw failed(`${command}: the trace lost ${result.dropped} records`);
  return result;
}

/** From the trace of real members. @param outcome of the figure */
export function measuredSteps(outcome: FromSteps): Way {
  return {
    id: 'measured',
    name: 'one host, links of 1 Gbit/s',
    kind: 'measured',
    how: 'The trace of four processes with the windows of the paper, over links of 1 Gbit/s of the soft device.',
    command: shown(ARGS),
    minutes: 1,
    rivals: [],
    run: async (bench) => ({ ...outcome(await stepsFrom(bench, {})), notes: NOTES, missing: [] }),
  };
}

/** The same, with a relay that is stopped near the end. @param outcome of the figure */
export function stoppedSteps(outcome: FromSteps): Way {
  return {
    id: 'stopped',
    name: 'one host, a relay stopped',
    kind: 'measured',
    how: `The processes and links of the way measured; a relay is stopped for ${STOP.BENCH_STOP_MS} ms near the end of the message.`,
    command: shown(ARGS, STOP),
    minutes: 1,
    rivals: [],
    run: async (bench) => {
      const notes = [...NOTES, ...STOP_NOTES];
      return { ...outcome(await stepsFrom(bench, STOP)), notes, missing: [] };
    },
  };
}
