import type { Outcome } from '../record/record.js';
import { rounded } from '../simulation/values.js';
import { failed } from './command.js';
import { numberIn, tableRows } from './markdown-table.js';

/** `node tools/bench/hipower/run.mjs CASE shm`. */
export const hipowerArgs = (name: string) => ['tools/bench/hipower/run.mjs', name, 'shm'];

const VARIANTS = [
  { id: 'pull', name: 'pull', own: true },
  { id: 'push', name: 'push', own: true },
  { id: 'baseline', name: 'per work request', own: false },
] as const;
const TCP = { id: 'tcp', name: 'plain TCP', own: false } as const;
type Variant = (typeof VARIANTS)[number]['id'] | 'tcp';

/** The columns of the benchmark's table that figures show. */
const COLUMNS = { rate: 2, requester: 4, responder: 6 } as const;
/** The columns of its table of latencies. */
const LATENCY_COLUMNS = { load: 1, variant: 3, p50: 4 } as const;

/** Throughput and processor time by the size of a message. */
export class ThroughputTable {
  readonly sizes: readonly number[];
  readonly #rows: ReadonlyMap<string, readonly string[]>;

  /** @throws LabError ERR_RDMC_BENCHMARK_FAILED if a line of a variant is missing */
  constructor(output: string) {
    const rows = tableRows(output);
    this.sizes = [...new Set(rows.map(([size]) => numberIn(size)))];
    this.#rows = new Map(rows.map((row) => [`${row[0]} ${row[1]}`, row]));
    if (this.sizes.length === 0) throw failed('the benchmark of HiPower did not print a table');
  }

  value(column: keyof typeof COLUMNS, variant: Variant, size: number): number {
    const row = this.#rows.get(`${size} ${variant}`);
    if (row === undefined) throw failed(`the benchmark did not print ${variant} for ${size} bytes`);
    return numberIn(row[COLUMNS[column]]);
  }

  /** Ours over confirmation of each work request. */
  ratio(column: keyof typeof COLUMNS, variant: Variant, size: number): string {
    return (this.value(column, variant, size) / this.value(column, 'baseline', size)).toFixed(2);
  }

  panel(
    column: keyof typeof COLUMNS,
    head: {
      readonly title: string;
      readonly description: string;
      readonly unit: string;
      readonly digits: number;
    },
  ): Outcome['panels'][number] {
    return {
      title: head.title,
      description: head.description,
      kind: 'lines',
      x: { label: 'bytes of a message', values: [...this.sizes] },
      y: { label: head.unit, scale: 'log10', digits: head.digits },
      series: [...VARIANTS, ...(this.#hasTcp ? [TCP] : [])].map(({ id, name, own }) => ({
        name,
        values: this.sizes.map((size) => rounded(this.value(column, id, size), head.digits)),
        own,
      })),
    };
  }

  get #hasTcp(): boolean {
    return this.sizes.every((size) => this.#rows.has(`${size} tcp`));
  }
}

/** What `streams` prints: latency and processor time of one to one, gather and broadcast by size. Exported for tests. */
export class StreamsTable {
  readonly sizes: readonly number[];
  readonly #rows: ReadonlyMap<string, readonly string[]>;

  /** @throws LabError ERR_RDMC_BENCHMARK_FAILED */
  constructor(output: string) {
    const rows = tableRows(output);
    this.sizes = [...new Set(rows.map(([size]) => numberIn(size)))];
    this.#rows = new Map(rows.map((row) => [row.slice(0, 3).join(' '), row]));
    if (this.sizes.length === 0) throw failed('the benchmark of HiPower did not print a table');
  }

  p50(stream: string, variant: Variant, size: number): number {
    const row = this.#rows.get(`${size} ${stream} ${variant}`);
    if (row === undefined) throw failed(`the benchmark did not print ${stream}, ${variant}, ${size} bytes`);
    return numberIn(row[3]);
  }

  panel(stream: string, title: string): Outcome['panels'][number] {
    return {
      title,
      description:
        'Microseconds from the time when a message was due to its reading, 4,000 messages per second at the master; both axes are ' +
        'logarithmic. Lower is better.',
      kind: 'lines',
      x: { label: 'bytes of a message', values: [...this.sizes] },
      y: { label: 'microseconds', scale: 'log10', digits: 1 },
      series: VARIANTS.map(({ id, name, own }) => ({
        name,
        values: this.sizes.map((size) => rounded(this.p50(stream, id, size), 1)),
        own,
      })),
    };
  }
}

/** Medians of latency by load, of messages of one size. Exported for tests. */
export function latencyPanel(output: string, size: number): Outcome['panels'][number] {
  const rows = tableRows(output).filter((row) => numberIn(row[0]) === size);
  const loads = [...new Set(rows.map((row) => row[LATENCY_COLUMNS.load]!))];
  const numberOf = (load: string, variant: Variant) => {
    const found = rows.find(
      (row) => row[LATENCY_COLUMNS.load] === load && row[LATENCY_COLUMNS.variant] === variant,
    );
    if (found === undefined) throw failed(`the benchmark did not print ${variant} at the load ${load}`);
    return numberIn(found[LATENCY_COLUMNS.p50]);
  };
  return {
    title: `Median latency of ${size} bytes at equal load, over shared memory`,
    description:
      'Microseconds from the time when a message was due to its reading; loads are shares of what the baseline can do. ' +
      'Lower is better.',
    kind: 'bars',
    x: { label: 'load', values: loads },
    y: { label: 'microseconds', scale: 'log10', digits: 2 },
    series: VARIANTS.map(({ id, name, own }) => ({
      name,
      values: loads.map((load) => numberOf(load, id)),
      own,
    })),
  };
}
