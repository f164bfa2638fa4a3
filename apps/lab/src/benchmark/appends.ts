import type { Outcome, Panel } from '../record/record.js';
import { failed } from './command.js';

export const APPEND_ARGS = [
  'packages/tailwind/bench/append.mjs',
  ...['--rounds', '3', '--seconds', '2', '--depths', '1,8,64', '--offered', '20000,50000'],
];

const SCHEMES = [
  { id: 'one-sided-here', name: 'one-sided, here', own: true },
  { id: 'one-sided', name: 'one-sided, worker', own: true },
  { id: 'rpc', name: 'messages', own: false },
] as const;

/** `     8 under way   rpc    66354 (1 to 2)/s  p50 103 (…)  p99 350 (…)  CPU: backups 8.45 (…), primary …` */
const LINE =
  /^ *(\d+) (under way|per second) +(\S+) +([\d.]+) \([^)]*\)\/s +p50 ([\d.]+) \([^)]*\) +p99 ([\d.]+) \([^)]*\) +CPU: backups ([\d.]+)/;

interface Measured {
  readonly load: string;
  readonly scheme: string;
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  readonly backups: number;
}

/** What the benchmark of appends printed. */
export class Appends {
  readonly #all: readonly Measured[];

  /** @throws LabError ERR_RDMC_BENCHMARK_FAILED */
  constructor(output: string) {
    this.#all = output.split('\n').flatMap((text) => {
      const [, count, kind, scheme, ...numbers] = LINE.exec(text) ?? [];
      if (scheme === undefined) return [];
      const [rate, p50, p99, backups] = numbers.map(Number) as [number, number, number, number];
      return [{ load: `${count} ${kind}`, scheme, rate, p50, p99, backups }];
    });
    if (this.#all.length === 0) throw failed('the benchmark of appends did not print what is understood');
  }

  value(what: 'rate' | 'p50' | 'p99' | 'backups', load: string, scheme: string): number {
    const found = this.#all.find((each) => each.load === load && each.scheme === scheme);
    if (found === undefined) throw failed(`the benchmark of appends did not print ${scheme} at ${load}`);
    return found[what];
  }

  /** Loads of one kind: `under way` or `per second`. */
  loads(kind: 'under way' | 'per second'): string[] {
    return [...new Set(this.#all.map(({ load }) => load))].filter((load) => load.endsWith(kind));
  }

  panel(
    what: 'rate' | 'p50' | 'p99' | 'backups',
    loads: readonly string[],
    head: Pick<Panel, 'title' | 'description' | 'y'>,
  ): Outcome['panels'][number] {
    return {
      ...head,
      kind: 'bars',
      x: { label: 'load', values: [...loads] },
      series: SCHEMES.map(({ id, name, own }) => ({
        name,
        values: loads.map((load) => this.value(what, load, id)),
        own,
      })),
    };
  }
}
