import type { Way } from '../catalogue/figure.js';
import type { Outcome, Panel } from '../record/record.js';
import { rounded } from '../simulation/values.js';
import { failed, jsonOf, shown } from './command.js';

const ARGS = ['tools/bench/multicast/run.mjs', 'waits'];
const SIZES = [
  { byteLength: 1e8, name: '100 MB' },
  { byteLength: 1e6, name: '1 MB' },
  { byteLength: 1e4, name: '10 KB' },
] as const;
const MODES = ['polling', 'hybrid', 'interrupts'] as const;
/** With more members than cores a thread that polls takes its processor from another member. */
const MEMBERS_OF_FACTS = 2;

interface Row {
  readonly n: number;
  readonly mode: string;
  readonly byteLength: number;
  readonly gbitPerSecond: number;
  /** Processors of each member, the mean: of its kinds of threads. */
  readonly main: number;
  readonly worker: number;
  readonly device: number;
  readonly others: number;
}

/** Percent of a core, without the threads that stand for the NIC. */
const busy = ({ main, worker, others }: Row) => 100 * (main + worker + others);

function rowOf(rows: readonly Row[], n: number, mode: string, byteLength: number): Row {
  const found = rows.find((row) => row.n === n && row.mode === mode && row.byteLength === byteLength);
  if (found === undefined) throw failed(`the benchmark did not print ${mode}, ${byteLength} bytes, n = ${n}`);
  return found;
}

/** Processors and bandwidth by the way to wait. Exported for tests. @throws LabError */
export function waitsOutcome(rows: readonly Row[]): Outcome {
  const members = [...new Set(rows.map(({ n }) => n))];
  if (members.length === 0) throw failed('the benchmark of waiting did not print a row');
  const panel = (
    { byteLength, name }: (typeof SIZES)[number],
    what: { readonly title: string; readonly unit: string; readonly of: (row: Row) => number },
  ): Panel => ({
    title: `${what.title}, messages of ${name}`,
    description: 'Processes of one host with two cores, one sender, over shared memory.',
    kind: 'bars',
    x: { label: 'members', values: members.map((n) => `n = ${n}`) },
    y: { label: what.unit, scale: 'linear', digits: 1 },
    series: MODES.map((mode) => ({
      name: mode,
      values: members.map((n) => rounded(what.of(rowOf(rows, n, mode, byteLength)), 1)),
      own: mode === 'hybrid',
    })),
  });
  const cpu = { title: 'Busy time of the threads', unit: 'percent of a core for each member', of: busy };
  const rate = { title: 'Bandwidth', unit: 'Gbit/s', of: (row: Row) => row.gbitPerSecond };
  const at = (mode: string, byteLength: number) => rowOf(rows, MEMBERS_OF_FACTS, mode, byteLength);
  const percent = (mode: string, byteLength: number) => `${busy(at(mode, byteLength)).toFixed(0)}%`;
  const [large, medium, small] = SIZES;
  const slower = ({ byteLength }: (typeof SIZES)[number]) =>
    (at('interrupts', byteLength).gbitPerSecond / at('hybrid', byteLength).gbitPerSecond).toFixed(2);
  return {
    panels: [cpu, rate].flatMap((what) => SIZES.map((size) => panel(size, what))),
    facts: {
      hybrid: percent('polling', large.byteLength),
      large: percent('interrupts', large.byteLength),
      medium: percent('interrupts', medium.byteLength),
      small: percent('interrupts', small.byteLength),
      bandwidth: SIZES.map(slower).join(' / '),
    },
    notes: [
      `Facts are of n = ${MEMBERS_OF_FACTS}: one core for each member. With n = 3 and 4 there are more members than cores, so polling ` +
        'takes processors from the other members, and the percentages of all members cannot add up to more than 200.',
      'The main thread of JavaScript, the thread of the data plane and those of V8 are counted; threads of the soft device, which ' +
        'stand for a NIC, are not. Over shared memory a post copies the block, in the thread that posts: with a NIC it does not. So the ' +
        'percentages with interrupts are higher than the paper’s.',
    ],
    missing: [],
  };
}

/** Real groups with threads that poll, that sleep, and that do both. */
export function waitsOnOneHost(): Way {
  return {
    id: 'processors',
    name: 'one host, processor time',
    kind: 'measured',
    how: 'Processes of one host over shared memory, three ways to wait: processor time of their threads, and bandwidth.',
    command: shown(ARGS),
    minutes: 5,
    rivals: [],
    run: async (bench) =>
      waitsOutcome(jsonOf<{ result: Row[] }>(await bench.command(ARGS), shown(ARGS)).result),
  };
}
