import { type Bench, reproduceCommand, type Way } from '../catalogue/figure.js';
import { ON_ONE_HOST } from '../catalogue/tailwind/common.js';
import type { Outcome, Panel } from '../record/record.js';
import { shown } from './command.js';
import { rateOf } from './ycsb.js';

const MODES = [
  { id: 'one-sided', name: 'one-sided' },
  { id: 'rpc', name: 'messages' },
] as const;
const ROUNDS = 3;

/** Operations per second of all primaries together, by the scheme and the number of primaries. */
export type RateOf = (mode: string, primaries: number) => number;

const argsOf = (workload: string, primaries: number, mode: string) => [
  ...['apps/kv/dist/main.js', 'bench', '-w', workload, '-s', '4', '--primaries', String(primaries)],
  ...['--mode', mode, '-c', '30', '-t', '3', '--records', '20000', '--json'],
];

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1]!;

async function measure(bench: Bench, workload: string, primaries: readonly number[]): Promise<RateOf> {
  const rates = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const count of primaries) {
      for (const { id } of MODES) {
        const args = argsOf(workload, count, id);
        // A run of its own each time: the harness keeps what a command has printed.
        const output = await bench.command(args, { RDMC_BENCH_ROUND: String(round) });
        const perSecond = rateOf(output, shown(args));
        const key = `${id} ${count}`;
        rates.set(key, [...(rates.get(key) ?? []), perSecond]);
        bench.say(`  ${workload}, ${count} primaries, ${id}: ${perSecond} operations/s`);
      }
    }
  }
  return (mode, count) => median(rates.get(`${mode} ${count}`)!);
}

/** One-sided over messages. */
export function gain(rate: RateOf, primaries: number): string {
  return (rate('one-sided', primaries) / rate('rpc', primaries)).toFixed(2);
}

/** A line for each scheme. */
export function primariesPanel(
  head: Pick<Panel, 'title' | 'description'>,
  primaries: readonly number[],
  numberOf: RateOf,
): Panel {
  return {
    ...head,
    kind: 'lines',
    x: { label: 'active primaries', values: [...primaries] },
    y: { label: 'operations per second', scale: 'linear', digits: 0 },
    series: MODES.map(({ id, name }) => ({
      name,
      values: primaries.map((count) => Math.round(numberOf(id, count))),
      own: id === 'one-sided',
    })),
  };
}

/** Four servers, some of which have all keys of the load; every write has three backups. */
export function primariesWay(what: {
  readonly figure: string;
  readonly workload: string;
  readonly primaries: readonly number[];
  readonly how: string;
  readonly outcome: (rate: RateOf) => Omit<Outcome, 'missing'>;
}): Way {
  return {
    id: 'measured',
    name: 'kv on one host',
    kind: 'measured',
    how: what.how,
    command: reproduceCommand(what.figure, 'measured'),
    minutes: 4,
    rivals: ['replication by messages'],
    run: async (bench) => {
      const { panels, facts, notes } = what.outcome(await measure(bench, what.workload, what.primaries));
      return {
        panels,
        facts,
        notes: [ON_ONE_HOST, `Medians of ${ROUNDS} rounds by turns.`, ...notes],
        missing: [],
      };
    },
  };
}
