import type { Bench, Way } from '../catalogue/figure.js';
import type { Outcome } from '../record/record.js';
import { jsonOf, shown } from './command.js';
import { skewPanels } from './skew.js';

const ALGORITHMS = ['sequential', 'binomial-tree', 'chain', 'binomial-pipeline'];
const MEMBERS = [3, 4, 8, 16];
const ARGS = [
  'tools/bench/network/run.mjs',
  'large',
  ...['--members', MEMBERS.join(), '--mib', '8', '--rate', '400mbit', '--rounds', '3'],
  ...['--only', 'rdmc,mpi', '--few', '--algorithm', ALGORITHMS.join(), '--json'],
];
const PIPELINE = 'rdmc binomial-pipeline';
const BEST_MPI = 'Open MPI, best tried';
const DEFAULT_MPI = 'Open MPI, default';

/** A row that the benchmark prints. */
interface Row {
  readonly n: number;
  readonly name: string;
  readonly seconds: number;
  /** From the first receiver to the last one; of groups only. */
  readonly skew?: number;
}

const NAMES: Readonly<Record<string, string>> = { stream: 'one TCP stream', 'mpi default': DEFAULT_MPI };
const nameOf = (name: string) => NAMES[name] ?? (name.startsWith('mpi ') ? BEST_MPI : name);

/** The figure of the benchmark's rows. Exported for tests. */
export function latencyOutcome(rows: readonly Row[]): Outcome {
  const names = [...new Set(rows.map(({ name }) => nameOf(name)))];
  const members = [...new Set(rows.map(({ n }) => n))].sort((a, b) => a - b);
  const seconds = (name: string, n: number) => {
    const all = rows.filter((row) => row.n === n && nameOf(row.name) === name).map((row) => row.seconds);
    return all.length === 0 ? null : Math.min(...all);
  };
  const skew = (name: string, n: number) =>
    rows.find((row) => row.n === n && row.name === name)?.skew ?? null;
  const hasMpi = names.includes(BEST_MPI);
  return {
    panels: [
      {
        title: '8 MiB to n hosts on links of 400 Mbit/s',
        description: 'Seconds until the last host has 8 MiB; hosts are network namespaces. Lower is better.',
        kind: 'lines',
        x: { label: 'hosts n', values: members },
        y: { label: 'seconds', scale: 'log10', digits: 3 },
        series: names.map((name) => ({
          name,
          values: members.map((n) => seconds(name, n)),
          own: name === PIPELINE,
        })),
      },
      ...skewPanels(
        '8 MiB to n hosts on links of 400 Mbit/s',
        { label: 'hosts n', values: members },
        names.map((name) => ({ name, skew: (n) => skew(name, n), own: name === PIPELINE })),
      ),
    ],
    facts: hasMpi ? { mpi: ratios(members, seconds) } : {},
    notes: [],
    missing: hasMpi ? [] : ['Open MPI'],
  };
}

function ratios(members: readonly number[], seconds: (name: string, n: number) => number | null): string {
  const all = members.flatMap((n) => {
    const [mpi, ours] = [seconds(BEST_MPI, n), seconds(PIPELINE, n)];
    return mpi === null || ours === null ? [] : mpi / ours;
  });
  return `${Math.min(...all).toFixed(2)} to ${Math.max(...all).toFixed(2)} (best tried)`;
}

/** Real groups between network namespaces, all algorithms beside Open MPI. */
export function latencyOnNetlab(): Way {
  return {
    id: 'netlab',
    name: 'network namespaces, 400 Mbit/s',
    kind: 'measured',
    how: 'Real processes in network namespaces with links of 400 Mbit/s, 8 MiB, all algorithms.',
    command: shown(ARGS),
    minutes: 4,
    rivals: ['Open MPI', 'one TCP stream'],
    needsRoot: true,
    run: async (bench: Bench) => {
      const output = await bench.command(ARGS);
      return latencyOutcome(jsonOf<{ rows: Row[] }>(output, shown(ARGS)).rows);
    },
  };
}
