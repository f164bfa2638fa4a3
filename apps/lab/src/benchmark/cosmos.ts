import type { Way } from '../catalogue/figure.js';
import type { Outcome, Panel } from '../record/record.js';
import { rounded } from '../simulation/values.js';
import { failed, jsonOf, shown } from './command.js';

const ARGS = ['tools/bench/network/run.mjs', 'cosmos', '--rounds', '3', '--json'];
const PIPELINE = 'binomial-pipeline';

interface Row {
  readonly name: string;
  /** Seconds. */
  readonly mean: number;
  readonly percentiles: readonly (readonly [percent: number, seconds: number])[];
  /** The same of the time from the first replica that has an object to the last one. Older benchmarks do not print it. */
  readonly skewPercentiles?: readonly (readonly [percent: number, seconds: number])[];
  readonly 'Mbit/s': number;
  /** Peak RSS of all processes; a page that several of them share counts in each. */
  readonly 'all MiB': number;
  /** PSS of all processes: a shared page counts once. Older benchmarks do not print it. */
  readonly 'all PSS MiB'?: number;
}

const PSS_NOTE =
  'A sum of peak RSS has a page that all processes share up to 16 times. As PSS, where it counts once, 16 processes with 455 open groups ' +
  'take 953 to 959 MiB after a message of 100 bytes in each (node tools/bench/network/groups-memory.mjs over TCP on loopback, c792c598, ' +
  'nothing else running; docs/results/multicast.md, “Memory of many groups”).';

/** Memory of all processes, and how it is counted. */
function memoryOf(row: Row): string {
  const pss = row['all PSS MiB'];
  const once = pss === undefined ? '' : `; ${pss} MiB of PSS`;
  return `${row['all MiB']} MiB, the sum of peak RSS${once}; blocks of 16 KiB`;
}

const percentilesPanel = (rows: readonly Row[], of: (row: Row) => Row['percentiles']) => ({
  kind: 'lines' as const,
  x: { label: 'percent of objects that are not slower', values: of(rows[0]!).map(([percent]) => percent) },
  series: rows.map((row) => ({
    name: row.name,
    values: of(row).map(([, seconds]) => seconds),
    own: row.name === PIPELINE,
  })),
});

/** No panel where the benchmark did not print it. */
function skewPanels(rows: readonly Row[]): Panel[] {
  if (rows.some(({ skewPercentiles }) => skewPercentiles === undefined)) return [];
  return [
    {
      ...percentilesPanel(rows, ({ skewPercentiles }) =>
        skewPercentiles!.map(([percent, seconds]) => [percent, rounded(1000 * seconds, 0)]),
      ),
      title: 'The same load: first to last replica',
      description: 'Milliseconds from the first replica that has an object to the last one. Lower is better.',
      y: { label: 'milliseconds', scale: 'linear', digits: 0 },
    },
  ];
}

/** The figure of the benchmark's rows. Exported for tests. @throws LabError ERR_RDMC_BENCHMARK_FAILED */
export function cosmosOutcome(rows: readonly Row[]): Outcome {
  const row = (name: string) => {
    const found = rows.find((each) => each.name === name);
    if (found === undefined) throw failed(`the benchmark did not print ${name}`);
    return found;
  };
  const pipeline = row(PIPELINE);
  const over = (name: string) => (row(name).mean / pipeline.mean).toFixed(2);
  return {
    panels: [
      {
        ...percentilesPanel(rows, ({ percentiles }) => percentiles),
        title: 'Latency of an object in the load at 1/64 of its size, real groups',
        description:
          'Seconds until all three replicas have an object, one object at a time, links of 100 Mbit/s. Lower is better.',
        y: { label: 'seconds', scale: 'log10', digits: 3 },
      },
      ...skewPanels(rows),
    ],
    facts: {
      tree: over('binomial-tree'),
      sequential: over('sequential'),
      rate: `${pipeline['Mbit/s'].toFixed(1)} of 100 Mbit/s, one object under way`,
      memory: memoryOf(pipeline),
    },
    notes: [
      'Sizes and blocks are those of the simulated load, divided by 64. All 455 groups are open at once.',
      PSS_NOTE,
    ],
    missing: [],
  };
}

/** Real groups in network namespaces. */
export function cosmosOnNetlab(): Way {
  return {
    id: 'netlab',
    name: 'network namespaces, 100 Mbit/s',
    kind: 'measured',
    how: '16 real processes in network namespaces with links of 100 Mbit/s, 455 open groups, sizes and blocks divided by 64.',
    command: shown(ARGS),
    minutes: 8,
    rivals: ['other algorithms'],
    needsRoot: true,
    run: async (bench) => cosmosOutcome(jsonOf<{ rows: Row[] }>(await bench.command(ARGS), shown(ARGS)).rows),
  };
}
