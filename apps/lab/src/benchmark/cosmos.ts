import type { Way } from '../catalogue/figure.js';
import type { Outcome } from '../record/record.js';
import { failed, jsonOf, shown } from './command.js';

const ARGS = ['tools/bench/network/run.mjs', 'cosmos', '--rounds', '3', '--json'];
const PIPELINE = 'binomial-pipeline';

interface Row {
  readonly name: string;
  /** Seconds. */
  readonly mean: number;
  readonly percentiles: readonly (readonly [percent: number, seconds: number])[];
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
        title: 'Latency of an object in the load at 1/64 of its size, real groups',
        description:
          'Seconds until all three replicas have an object, one object at a time, links of 100 Mbit/s. Lower is better.',
        kind: 'lines',
        x: {
          label: 'percent of objects that are not slower',
          values: pipeline.percentiles.map(([percent]) => percent),
        },
        y: { label: 'seconds', scale: 'log10', digits: 3 },
        series: rows.map(({ name, percentiles }) => ({
          name,
          values: percentiles.map(([, seconds]) => seconds),
          own: name === PIPELINE,
        })),
      },
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
