import type { Way } from '../catalogue/figure.js';
import { ON_ONE_HOST } from '../catalogue/tailwind/common.js';
import type { Outcome } from '../record/record.js';
import { failed, jsonOf, shown } from './command.js';

const ARGS = ['tools/bench/kv/threads.mjs', '--json'];
const WORKLOADS = [
  { id: 'b', name: 'YCSB B' },
  { id: 'a', name: 'YCSB A' },
  { id: 'write-only', name: 'write-only' },
] as const;
const MODES = [
  { id: 'one-sided', name: 'one-sided', own: true },
  { id: 'rpc', name: 'messages', own: false },
] as const;
const PARTS = ['main', 'worker', 'device', 'others'] as const;

type Part = (typeof PARTS)[number];
type Row = Readonly<Record<Part, number>> & {
  readonly workload: string;
  readonly mode: string;
  readonly perSecond: number;
  readonly waiting: number;
};

/** What the benchmark of threads printed. Exported for tests. */
export class Threads {
  readonly #rows: readonly Row[];

  constructor(rows: readonly Row[]) {
    this.#rows = rows;
  }

  /** @throws LabError ERR_RDMC_BENCHMARK_FAILED */
  row(workload: string, mode: string): Row {
    const found = this.#rows.find((each) => each.workload === workload && each.mode === mode);
    if (found === undefined) throw failed(`the benchmark did not print ${workload}, ${mode}`);
    return found;
  }

  /** Processor time of all threads, µs for each operation. */
  cpu(workload: string, mode: string): number {
    const row = this.row(workload, mode);
    return PARTS.reduce((sum, part) => sum + row[part], 0);
  }

  /** Processor time of each part, for one workload. */
  cpuPanel({ id, name }: (typeof WORKLOADS)[number]): Outcome['panels'][number] {
    return {
      title: `${name}: processor time of four servers for each operation`,
      description:
        'Microseconds: of the threads that serve clients (main), of the data planes (worker), of the device, and of V8. Lower is better.',
      kind: 'bars',
      x: { label: 'threads', values: [...PARTS] },
      y: { label: 'microseconds per operation', scale: 'linear', digits: 2 },
      series: MODES.map((mode) => ({
        name: mode.name,
        values: PARTS.map((part) => this.row(id, mode.id)[part]),
        own: mode.own,
      })),
    };
  }

  cpuOutcome(): Outcome {
    const at = (mode: string) => this.cpu('write-only', mode).toFixed(1);
    return {
      panels: WORKLOADS.map((workload) => this.cpuPanel(workload)),
      facts: { servers: `${at('one-sided')} / ${at('rpc')}` },
      notes: [
        ON_ONE_HOST,
        'One-sided appends are posted by the thread that serves clients, so there is no work in a worker.',
      ],
      missing: [],
    };
  }

  waitOutcome(): Outcome {
    const percent = (workload: string, mode: string) => 100 * this.row(workload, mode).waiting;
    const wait = MODES.map(({ id, name }) => `${percent('b', id).toFixed(1)}% (${name})`).join(', ');
    return {
      panels: [
        {
          title: "Share of the clients' time in which writes wait for backups",
          description: 'Percent, 30 clients that send one operation after the other. Lower is better.',
          kind: 'bars',
          x: { label: 'workload', values: WORKLOADS.map(({ name }) => name) },
          y: { label: 'percent', scale: 'linear', digits: 1 },
          series: MODES.map(({ id, name, own }) => ({
            name,
            values: WORKLOADS.map((workload) => Number(percent(workload.id, id).toFixed(1))),
            own,
          })),
        },
      ],
      facts: { wait },
      notes: [
        ON_ONE_HOST,
        'A server does not have workers that wait: its thread serves other clients meanwhile. So this is the share of the time of ' +
          'clients, and is much smaller than that of the paper’s workers.',
      ],
      missing: [],
    };
  }
}

/** A run of the benchmark of threads. */
export function threadsWay(id: string, how: string, outcomeOf: (threads: Threads) => Outcome): Way {
  return {
    id,
    name: 'kv on one host, 30 clients',
    kind: 'measured',
    how,
    command: shown(ARGS),
    minutes: 3,
    rivals: ['replication by messages'],
    run: async (bench) =>
      outcomeOf(new Threads(jsonOf<{ rows: Row[] }>(await bench.command(ARGS), shown(ARGS)).rows)),
  };
}
