import type { SimulateOptions } from '@rdmc/simulator';
import { latencyOnNetlab } from '../../benchmark/netlab-latency.js';
import type { Outcome } from '../../record/record.js';
import { type Reports, simulated } from '../../simulation/sweep.js';
import { line, MIB, several } from '../../simulation/values.js';
import type { Figure, Runs } from '../figure.js';
import { ALGORITHMS, COSTS_ARE_ASSUMED, WINDOWS } from './common.js';

const ID = 'rdmc-4';
const MEMBERS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
const SIZES = [256, 8];

const ALL_WINDOWS = [
  ...WINDOWS,
  {
    id: 'ahead',
    label: 'all members ahead',
    about: '32 receives and 4 sends ahead with every schedule',
  },
] as const;

const OUT_OF_STEP =
  'If members work ahead (32 receives, 4 sends), the pipeline takes up to twice the time where their number is not a power of two. ' +
  'Real groups of 6 with links of 100 Mbit/s and queues of 50 ms took 1.02 times one stream with blocks of 64 KiB, and 1.73 times ' +
  'with blocks of 1 MiB, which such queues cannot hold; in step they took 1.10 (docs/results/multicast-windows.md). The shipped ' +
  'windows keep such groups in step.';

const key = (mib: number, windows: string, algorithm: string, nodes: number) =>
  `${mib} MiB, ${windows}, ${algorithm}, n=${nodes}`;

function runs(): Runs {
  const all = new Map<string, SimulateOptions>();
  for (const mib of SIZES) {
    for (const { id: windows } of ALL_WINDOWS) {
      for (const algorithm of ALGORITHMS) {
        for (const nodes of MEMBERS) {
          const options = { cluster: 'fractus', nodes, algorithm, byteLength: mib * MIB, windows };
          all.set(key(mib, windows, algorithm, nodes), options);
        }
      }
    }
  }
  return all;
}

/** The pipeline at n = 6 over n = 8. */
function uneven(reports: Reports, windows: string): number {
  const of = (nodes: number) => reports.milliseconds(key(256, windows, 'binomial-pipeline', nodes));
  return of(6) / of(8);
}

function outcome(reports: Reports): Outcome {
  const ms = (mib: number, algorithm: string, nodes: number) =>
    reports.milliseconds(key(mib, 'paper', algorithm, nodes));
  const all = (mib: number, nodes: number, digits: number) =>
    several(
      ALGORITHMS.map((algorithm) => ms(mib, algorithm, nodes)),
      digits,
    );
  const panels = SIZES.flatMap((mib) =>
    ALL_WINDOWS.map(({ id, label, about }) => ({
      title: `${mib} MiB on Fractus, ${label}`,
      description: `Milliseconds until the last member has ${mib} MiB, in blocks of 1 MiB; ${about}. Lower is better.`,
      kind: 'lines' as const,
      x: { label: 'members, the sender included', values: MEMBERS },
      y: { label: 'milliseconds', scale: 'log10' as const, digits: 2 },
      series: ALGORITHMS.map((algorithm) => ({
        ...line(algorithm, MEMBERS, 2, (n) => reports.milliseconds(key(mib, id, algorithm, n))),
        own: algorithm === 'binomial-pipeline',
      })),
    })),
  );
  const facts = {
    large4: all(256, 4, 1),
    large8: all(256, 8, 1),
    large16: all(256, 16, 1),
    small16: all(8, 16, 2),
    uneven: ALL_WINDOWS.map(({ id, label }) => `${uneven(reports, id).toFixed(2)} (${label})`).join(', '),
  };
  return { panels, facts, notes: [OUT_OF_STEP, COSTS_ARE_ASSUMED], missing: [] };
}

export const figure4: Figure = {
  id: ID,
  paper: 'rdmc',
  label: 'Figure 4',
  title: 'Latency against the size of the group',
  shows:
    'Sequential, binomial tree, chain, binomial pipeline and MVAPICH, 256 MB and 8 MB in blocks of 1 MB, 3 to 16 members ' +
    'on Fractus. Sequential and tree grow with the group; the chain is as good as the pipeline except for small ' +
    'messages to many.',
  facts: [
    { id: 'mpi', quantity: 'MPI over the pipeline', paper: '1.03 to 3', origin: 'text' },
    {
      id: 'large4',
      quantity: '256 MiB, n = 4: sequential / tree / chain / pipeline, ms',
      paper: '64.4 / 42.9 / 21.6 / 21.6',
      origin: 'model',
    },
    { id: 'large8', quantity: '256 MiB, n = 8, ms', paper: '150 / 64.4 / 22.0 / 21.6', origin: 'model' },
    { id: 'large16', quantity: '256 MiB, n = 16, ms', paper: '322 / 85.9 / 22.7 / 21.7', origin: 'model' },
    { id: 'small16', quantity: '8 MiB, n = 16, ms', paper: '10.07 / 2.68 / 1.85 / 0.92', origin: 'model' },
    { id: 'uneven', quantity: '256 MiB: pipeline, n = 6 over n = 8', paper: '1.00', origin: 'model' },
  ],
  ways: [
    simulated({
      figure: ID,
      kind: 'predicted',
      how: 'The simulator with the preset fractus; the facts are of the windows of the paper. MVAPICH is not simulated.',
      minutes: 2,
      runs,
      outcome,
    }),
    latencyOnNetlab(),
    {
      id: 'recorded',
      name: 'network namespaces, 64 and 8 MiB',
      kind: 'measured',
      how: 'Real processes in network namespaces with links of 400 Mbit/s, 64 and 8 MiB; Open MPI is the rival.',
      command: 'node tools/bench/network/run.mjs large --mib 64,8',
      minutes: 60,
      rivals: ['Open MPI', 'nc | tee chain', 'one plain TCP stream'],
      needsRoot: true,
    },
  ],
};
