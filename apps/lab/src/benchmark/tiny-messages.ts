import type { Way } from '../catalogue/figure.js';
import type { Outcome } from '../record/record.js';
import { grouped } from '../simulation/values.js';
import { jsonOf, shown } from './command.js';

const ARGS = ['tools/bench/multicast/run.mjs', 'tiny'];

const AS_BLOCKS =
  'Each message is a block of its own. Small messages that are given as bytes go through rings since 2026-11-23: 6,359,108 / 3,622,106 / ' +
  '1,996,297 / 917,329 per second with n = 2 / 4 / 8 / 16 beside 14,045,289 / 4,070,727 / 1,950,209 / 879,137 of Open MPI in the same ' +
  'run (2026-11-24, 56decc42, an idle machine with two cores, over shared memory: docs/results/multicast.md, “Small messages”).';

/** A row that the benchmark prints; `null` without Open MPI. */
interface Row {
  readonly n: number;
  readonly perSecond: number;
  readonly mpiPerSecond: number | null;
}

/** The figure of the benchmark's rows. Exported for tests. */
export function tinyOutcome(rows: readonly Row[]): Outcome {
  const hasMpi = rows.some(({ mpiPerSecond }) => mpiPerSecond !== null);
  const ends = (of: (row: Row) => number | null) =>
    [rows[0]!, rows.at(-1)!].map((row) => grouped(of(row) ?? 0)).join(' / ');
  const mpi = { name: 'Open MPI', values: rows.map(({ mpiPerSecond }) => mpiPerSecond) };
  return {
    panels: [
      {
        title: 'Messages of one byte among processes of one host, as blocks',
        description: 'Messages per second, 5,000 queued at once, over shared memory. Higher is better.',
        kind: 'lines',
        x: { label: 'processes, the sender included', values: rows.map(({ n }) => n) },
        y: { label: 'messages per second', scale: 'log10', digits: 0 },
        series: [
          { name: 'rdmc, as blocks', values: rows.map(({ perSecond }) => perSecond), own: true },
          ...(hasMpi ? [mpi] : []),
        ],
      },
    ],
    facts: {
      rate: ends((row) => row.perSecond),
      ...(hasMpi ? { mpi: ends((row) => row.mpiPerSecond) } : {}),
    },
    notes: [AS_BLOCKS],
    missing: hasMpi ? [] : ['Open MPI'],
  };
}

/** Real groups over shared memory, beside MPI_Bcast in a loop. */
export function tinyMessages(): Way {
  return {
    id: 'measured',
    name: 'one host, as blocks',
    kind: 'measured',
    how: 'Processes of one host over shared memory, as blocks: regions that the application gives.',
    command: shown(ARGS),
    minutes: 2,
    rivals: ['Open MPI'],
    run: async (bench) => {
      const output = await bench.command(ARGS);
      return tinyOutcome(jsonOf<{ result: Row[] }>(output, shown(ARGS)).result);
    },
  };
}
