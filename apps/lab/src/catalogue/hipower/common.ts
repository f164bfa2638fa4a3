import { shown } from '../../benchmark/command.js';
import { hipowerArgs, ThroughputTable } from '../../benchmark/hipower.js';
import type { Outcome } from '../../record/record.js';
import type { Way } from '../figure.js';

/** What is different from the paper in every measurement here. */
export const ON_SHARED_MEMORY =
  'The device is the soft device over shared memory of one host with 2 cores, not a NIC: a ratio says something, a rate does not. ' +
  'The baseline takes its completions in batches, too, so it is faster than the paper’s.';

/** What the figures with GPU memory lack. */
export const NEEDS_A_GPU =
  'GPU memory needs an RDMA network card and a GPU with GPUDirect. There is neither here, so this is not measured and not simulated.';

/** A run of a case of the benchmark of HiPower. */
export function hipowerWay(
  name: string,
  minutes: number,
  how: string,
  outcomeOf: (output: string) => Omit<Outcome, 'notes' | 'missing'>,
): Way {
  const args = hipowerArgs(name);
  return {
    id: 'measured',
    kind: 'measured',
    how,
    command: shown(args),
    minutes,
    rivals: ['confirmation of each work request'],
    run: async (bench) => ({
      ...outcomeOf(await bench.command(args)),
      notes: [ON_SHARED_MEMORY],
      missing: [],
    }),
  };
}

/** Several cases, each with a table of throughput. */
export function tablesWay(
  names: readonly string[],
  minutes: number,
  how: string,
  outcomeOf: (tables: ThroughputTable[]) => Omit<Outcome, 'notes' | 'missing'>,
): Way {
  return {
    id: 'measured',
    kind: 'measured',
    how,
    command: names.map((name) => shown(hipowerArgs(name))).join(' && '),
    minutes,
    rivals: ['confirmation of each work request'],
    run: async (bench) => {
      const tables: ThroughputTable[] = [];
      for (const name of names) tables.push(new ThroughputTable(await bench.command(hipowerArgs(name))));
      return { ...outcomeOf(tables), notes: [ON_SHARED_MEMORY], missing: [] };
    },
  };
}
