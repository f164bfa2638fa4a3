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
  readonly 'all MiB': number;
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
      memory: `${pipeline['all MiB']} MiB, blocks of 16 KiB`,
    },
    notes: [
      'Sizes and blocks are those of the simulated load, divided by 64. All 455 groups are open at once.',
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
