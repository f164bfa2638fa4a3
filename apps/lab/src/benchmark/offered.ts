import type { Way } from '../catalogue/figure.js';
import { ON_ONE_HOST } from '../catalogue/tailwind/common.js';
import type { Outcome, Panel } from '../record/record.js';
import { rounded } from '../simulation/values.js';
import { failed, jsonOf, shown } from './command.js';

const ARGS = ['tools/bench/kv/offered.mjs', '--json'];
const SUBJECTS = [
  { id: 'one-sided', name: 'kv, one-sided', own: true },
  { id: 'rpc', name: 'kv, messages', own: false },
  { id: 'redis', name: 'Redis, WAIT 3', own: false },
] as const;
type Subject = (typeof SUBJECTS)[number]['id'];
/** A server keeps up with a load if it answers this share of it in the time. */
const KEEPS_UP = 0.95;

interface Row {
  readonly subject: string;
  /** Writes per second. */
  readonly offered: number;
  readonly perSecond: number;
  /** Microseconds from the time at which a write was due. */
  readonly p50: number;
  readonly p99: number;
  /** Processors of the server, and of its three backups together. */
  readonly primary: number;
  readonly backups: number;
  readonly errors: number;
  readonly shortWaits: number;
  readonly unanswered: number;
}
type Column = 'p50' | 'p99' | 'primary' | 'backups';

/** What the benchmark of offered loads printed. Exported for tests. */
export class OfferedLoads {
  readonly #rows: readonly Row[];
  readonly #loads: readonly number[];

  /** @throws LabError ERR_RDMC_BENCHMARK_FAILED if a load is missing, or a write failed */
  constructor(rows: readonly Row[]) {
    this.#rows = rows;
    this.#loads = [...new Set(rows.map(({ offered }) => offered))];
    if (this.#loads.length === 0) throw failed('the benchmark of offered loads did not print a load');
    const wrong = rows.find(({ errors, shortWaits }) => errors + shortWaits > 0);
    if (wrong) throw failed(`writes failed: ${wrong.subject} at ${wrong.offered} per second`);
  }

  get missing(): string[] {
    return this.#has('redis') ? [] : ['Redis'];
  }

  #has(subject: Subject): boolean {
    return this.#rows.some((row) => row.subject === subject);
  }

  #row(subject: Subject, load: number): Row {
    const found = this.#rows.find((row) => row.subject === subject && row.offered === load);
    if (found === undefined) throw failed(`the benchmark did not print ${subject} at ${load} per second`);
    return found;
  }

  #keepsUp(subject: Subject, load: number): boolean {
    const { perSecond, offered, unanswered } = this.#row(subject, load);
    return unanswered === 0 && perSecond >= KEEPS_UP * offered;
  }

  /** The highest load with which both schemes keep up; the lowest one if there is none. */
  get heavy(): number {
    const both = (load: number) => this.#keepsUp('one-sided', load) && this.#keepsUp('rpc', load);
    return [...this.#loads].reverse().find(both) ?? this.#loads[0]!;
  }

  get light(): number {
    return this.#loads[0]!;
  }

  value(column: Column, subject: Subject, load: number): number {
    return this.#row(subject, load)[column];
  }

  /** One-sided over another subject. */
  ratio(column: Column, load: number, over: Subject): string {
    return (this.value(column, 'one-sided', load) / this.value(column, over, load)).toFixed(2);
  }

  panel(
    column: Column,
    title: string,
    { description, unit }: { readonly description: string; readonly unit: string },
  ): Panel {
    const isTime = column === 'p50' || column === 'p99';
    const digits = isTime ? 0 : 3;
    return {
      title,
      description,
      kind: 'lines',
      x: { label: 'offered writes per second', values: [...this.#loads] },
      y: { label: unit, scale: isTime ? 'log10' : 'linear', digits },
      series: SUBJECTS.filter(({ id }) => this.#has(id)).map(({ id, name, own }) => ({
        name,
        values: this.#loads.map((load) =>
          this.#keepsUp(id, load) ? rounded(this.value(column, id, load), digits) : null,
        ),
        own,
      })),
    };
  }

  latencyOutcome(): Outcome {
    const { light, heavy } = this;
    const times = { description: 'Microseconds from the time at which a SET was due. Lower is better.' };
    const both = (load: number, over: Subject) =>
      `${this.ratio('p50', load, over)}, ${this.ratio('p99', load, over)} (${load} per second)`;
    return {
      panels: [
        this.panel('p50', 'Median latency of SET at a client', { ...times, unit: 'microseconds' }),
        this.panel('p99', '99th percentile of SET at a client', { ...times, unit: 'microseconds' }),
      ],
      facts: {
        median: `${this.ratio('p50', light, 'rpc')} (${light} per second)`,
        tail: this.ratio('p99', light, 'rpc'),
        heavy: both(heavy, 'rpc'),
        ...(this.#has('redis') ? { redis: `${both(light, 'redis')}; ${both(heavy, 'redis')}` } : {}),
      },
      ...this.#about(),
    };
  }

  coresOutcome(): Outcome {
    const cores = {
      description: 'Processors, threads that poll included. Lower is better.',
      unit: 'processors',
    };
    const all = (subject: Subject) =>
      (this.value('primary', subject, this.heavy) + this.value('backups', subject, this.heavy)).toFixed(2);
    return {
      panels: [
        this.panel('primary', 'Processors of the server that has the clients', cores),
        this.panel('backups', 'Processors of its three backups together', cores),
      ],
      facts: { cores: `${all('one-sided')} instead of ${all('rpc')} at ${this.heavy} writes/s` },
      ...this.#about([
        'A server of kv has one thread that serves clients, not workers and a dispatcher: all of its threads are counted.',
      ]),
    };
  }

  #about(more: readonly string[] = []): Pick<Outcome, 'notes' | 'missing'> {
    return {
      notes: [
        ON_ONE_HOST,
        ...more,
        'One server has the clients; three others have its backups. The times at which SETs are sent are fixed in advance, over 50 ' +
          'connections, and do not depend on replies. Redis has three replicas and no file; a SET ends there with the reply of ' +
          'WAIT 3, which is sent together with it. A failover of Redis may lose such a SET.',
        `No value: the server did not answer ${100 * KEEPS_UP}% of the load in the time.`,
      ],
      missing: this.missing,
    };
  }
}

/** A run of the benchmark of offered loads. */
export function offeredWay(id: string, how: string, outcomeOf: (loads: OfferedLoads) => Outcome): Way {
  return {
    id,
    name: 'SET at a client',
    kind: 'measured',
    how,
    command: shown(ARGS),
    minutes: 4,
    rivals: ['replication by messages', 'Redis'],
    run: async (bench) =>
      outcomeOf(new OfferedLoads(jsonOf<{ rows: Row[] }>(await bench.command(ARGS), shown(ARGS)).rows)),
  };
}
