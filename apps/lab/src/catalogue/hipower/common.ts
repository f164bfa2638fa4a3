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

/** What differs from the usual run. */
interface Variation {
  readonly id?: string;
  readonly name?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly rivals?: readonly string[];
}

const PER_REQUEST = ['confirmation of each work request'];

/** A run of a case of the benchmark of HiPower. */
export function hipowerWay(
  name: string,
  minutes: number,
  how: string,
  outcomeOf: (output: string) => Omit<Outcome, 'notes' | 'missing'>,
  { id = 'measured', name: heading = 'two processes', env = {}, rivals = PER_REQUEST }: Variation = {},
): Way {
  const args = hipowerArgs(name);
  return {
    id,
    name: heading,
    kind: 'measured',
    how,
    command: shown(args, env),
    minutes,
    rivals,
    run: async (bench) => ({
      ...outcomeOf(await bench.command(args, env)),
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
  { id = 'measured', name: heading = 'two processes', env = {} }: Variation = {},
): Way {
  return {
    id,
    name: heading,
    kind: 'measured',
    how,
    command: names.map((name) => shown(hipowerArgs(name), env)).join(' && '),
    minutes,
    rivals: PER_REQUEST,
    run: async (bench) => {
      const tables: ThroughputTable[] = [];
      for (const name of names) tables.push(new ThroughputTable(await bench.command(hipowerArgs(name), env)));
      return { ...outcomeOf(tables), notes: [ON_SHARED_MEMORY], missing: [] };
    },
  };
}

/** A master and four workers, as in the paper. */
export const FOUR_WORKERS = {
  id: 'four-workers',
  name: 'four workers',
  env: { RDMC_BENCH_PEERS: '4' },
} as const;

/** A master and two workers. */
export const TWO_WORKERS = { name: 'two workers' } as const;

/** One to one with plain TCP beside: both tables as one. */
export function withTcp(
  how: string,
  outcomeOf: (tables: ThroughputTable[]) => Omit<Outcome, 'notes' | 'missing'>,
): Way {
  const names = ['one', 'stream'];
  return {
    id: 'with-tcp',
    name: 'two processes, with TCP',
    kind: 'measured',
    how,
    command: names.map((name) => shown(hipowerArgs(name))).join(' && '),
    minutes: 4,
    rivals: [...PER_REQUEST, 'plain TCP'],
    run: async (bench) => {
      const outputs: string[] = [];
      for (const name of names) outputs.push(await bench.command(hipowerArgs(name)));
      const outcome = outcomeOf([new ThroughputTable(outputs.join('\n'))]);
      return { ...outcome, notes: [ON_SHARED_MEMORY], missing: [] };
    },
  };
}
