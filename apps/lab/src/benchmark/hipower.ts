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
/** The columns of its tables of latencies. */
const STREAM_COLUMNS = { p50: 3, requester: 5, responder: 6 } as const;
/** Sides of a channel whose processor time is printed. */
type Side = 'requester' | 'responder';
const SIZES_COLUMNS = { p50: 2, p99: 3 } as const;
const LATENCY_COLUMNS = { load: 1, variant: 3, p50: 4 } as const;

/** A table whose first columns name a row, and whose first one is the size of a message. */
class SizedTable {
  readonly sizes: readonly number[];
  readonly #rows: ReadonlyMap<string, readonly string[]>;

  /** @throws LabError ERR_RDMC_BENCHMARK_FAILED */
  protected constructor(output: string, names: number) {
    const rows = tableRows(output);
    this.sizes = [...new Set(rows.map(([size]) => numberIn(size)))];
    this.#rows = new Map(rows.map((row) => [row.slice(0, names).join(' '), row]));
    if (this.sizes.length === 0) throw failed('the benchmark of HiPower did not print a table');
  }

  protected has(name: string): boolean {
    return this.#rows.has(name);
  }

  /** Whether all rows have this column. */
  protected hasColumn(column: number): boolean {
    return [...this.#rows.values()].every((row) => row[column] !== undefined);
  }

  /** @throws LabError ERR_RDMC_BENCHMARK_FAILED if that row is missing */
  protected number(name: string, column: number): number {
    const row = this.#rows.get(name);
    if (row === undefined) throw failed(`the benchmark did not print '${name}'`);
    return numberIn(row[column]);
  }

  /** A line for each variant, by size; both axes are logarithmic. */
  protected lines(
    head: { readonly title: string; readonly description: string; readonly unit: string },
    digits: number,
    variants: readonly { readonly id: Variant; readonly name: string; readonly own: boolean }[],
    numberOf: (variant: Variant, size: number) => number,
  ): Outcome['panels'][number] {
    return {
      title: head.title,
      description: head.description,
      kind: 'lines',
      x: { label: 'bytes of a message', scale: 'log2', values: [...this.sizes] },
      y: { label: head.unit, scale: 'log10', digits },
      series: variants.map(({ id, name, own }) => ({
        name,
        values: this.sizes.map((size) => rounded(numberOf(id, size), digits)),
        own,
      })),
    };
  }
}

/** Throughput and processor time by the size of a message. */
export class ThroughputTable extends SizedTable {
  /** @throws LabError ERR_RDMC_BENCHMARK_FAILED if there is no table */
  constructor(output: string) {
    super(output, 2);
  }

  value(column: keyof typeof COLUMNS, variant: Variant, size: number): number {
    return this.number(`${size} ${variant}`, COLUMNS[column]);
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
    const variants = [...VARIANTS, ...(this.#hasTcp ? [TCP] : [])];
    return this.lines(head, head.digits, variants, (variant, size) => this.value(column, variant, size));
  }

  get #hasTcp(): boolean {
    return this.sizes.every((size) => this.has(`${size} tcp`));
  }
}

/** What `streams` prints: latency and processor time of one to one, gather and broadcast by size. Exported for tests. */
export class StreamsTable extends SizedTable {
  /** @throws LabError ERR_RDMC_BENCHMARK_FAILED if there is no table */
  constructor(output: string) {
    super(output, 3);
  }

  p50(stream: string, variant: Variant, size: number): number {
    return this.number(`${size} ${stream} ${variant}`, STREAM_COLUMNS.p50);
  }

  panel(stream: string, title: string): Outcome['panels'][number] {
    const description =
      'Microseconds from the begin of the burst in which a message was due to its reading; a burst each millisecond, 4,000 messages per ' +
      'second at the master; both axes are logarithmic. Lower is better.';
    return this.lines({ title, description, unit: 'microseconds' }, 1, VARIANTS, (variant, size) =>
      this.p50(stream, variant, size),
    );
  }

  /** Processor time of one side; no panel where an older benchmark did not print it. */
  processorPanels(stream: string, side: Side, title: string): Outcome['panels'] {
    const column = STREAM_COLUMNS[side];
    if (!this.hasColumn(column)) return [];
    const description =
      'Microseconds of whole processes for each message, polling included, at the rate of the latencies; both axes are logarithmic. ' +
      'Lower is better.';
    const head = { title, description, unit: 'microseconds per message' };
    const numberOf = (variant: Variant, size: number) => this.number(`${size} ${stream} ${variant}`, column);
    return [this.lines(head, 2, VARIANTS, numberOf)];
  }
}

/** What `sizes` prints: latency of one to one by size, with plain TCP. Exported for tests. */
export class SizesTable extends SizedTable {
  /** @throws LabError ERR_RDMC_BENCHMARK_FAILED if there is no table */
  constructor(output: string) {
    super(output, 2);
  }

  value(column: keyof typeof SIZES_COLUMNS, variant: Variant, size: number): number {
    return this.number(`${size} ${variant}`, SIZES_COLUMNS[column]);
  }

  /** Medians, over confirmation of each work request. */
  ratio(variant: Variant, size: number): string {
    return (this.value('p50', variant, size) / this.value('p50', 'baseline', size)).toFixed(2);
  }

  panel(column: keyof typeof SIZES_COLUMNS, title: string): Outcome['panels'][number] {
    const description =
      'Microseconds from the time when a message was due to its reading, 1,000 messages per second; both axes are logarithmic. ' +
      'Lower is better.';
    return this.lines({ title, description, unit: 'microseconds' }, 1, [...VARIANTS, TCP], (variant, size) =>
      this.value(column, variant, size),
    );
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
