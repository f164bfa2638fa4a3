import { jsonOf, shown } from '../../benchmark/command.js';
import type { Outcome } from '../../record/record.js';
import type { Bench, Figure } from '../figure.js';
import { reproduceCommand } from '../figure.js';
import { ON_ONE_HOST } from './common.js';

const ID = 'tailwind-9';
const PRIMARIES = [1, 2, 3, 4];
const MODES = [
  { id: 'one-sided', name: 'one-sided' },
  { id: 'rpc', name: 'messages' },
] as const;
const ROUNDS = 3;

const argsOf = (primaries: number, mode: string) => [
  ...['apps/kv/dist/main.js', 'bench', '-w', 'b', '-s', '4', '--primaries', String(primaries)],
  ...['--mode', mode, '-c', '30', '-t', '3', '--records', '20000', '--json'],
];

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1]!;

/** Operations per second of all primaries together: by mode and number of primaries. Exported for tests. */
export function primariesOutcome(rate: (mode: string, primaries: number) => number): Outcome {
  const gain = (primaries: number) => (rate('one-sided', primaries) / rate('rpc', primaries)).toFixed(2);
  return {
    panels: [
      {
        title: 'YCSB B: operations per second of each active primary',
        description: 'Four servers, of which some have all keys; 30 clients. Higher is better.',
        kind: 'lines',
        x: { label: 'active primaries', values: PRIMARIES },
        y: { label: 'operations per second', scale: 'linear', digits: 0 },
        series: MODES.map(({ id, name }) => ({
          name,
          values: PRIMARIES.map((primaries) => Math.round(rate(id, primaries) / primaries)),
          own: id === 'one-sided',
        })),
      },
    ],
    facts: { one: gain(1), four: gain(4) },
    notes: [ON_ONE_HOST, `Medians of ${ROUNDS} rounds by turns.`],
    missing: [],
  };
}

async function measure(bench: Bench): Promise<Outcome> {
  const rates = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const primaries of PRIMARIES) {
      for (const { id } of MODES) {
        const args = argsOf(primaries, id);
        // A run of its own each time: the harness keeps what a command has printed.
        const output = await bench.command(args, { RDMC_BENCH_ROUND: String(round) });
        const { perSecond } = jsonOf<{ perSecond: number }>(output, shown(args));
        const key = `${id} ${primaries}`;
        rates.set(key, [...(rates.get(key) ?? []), perSecond]);
        bench.say(`  ${primaries} primaries, ${id}: ${perSecond} operations/s`);
      }
    }
  }
  return primariesOutcome((mode, primaries) => median(rates.get(`${mode} ${primaries}`)!));
}

export const figure9: Figure = {
  id: ID,
  paper: 'tailwind',
  label: 'Figure 9',
  title: 'Throughput of each active primary',
  shows: 'YCSB B with one to four active primaries of four servers.',
  facts: [
    { id: 'one', quantity: 'one primary: one-sided over messages', paper: '1.03', origin: 'text' },
    { id: 'four', quantity: 'four primaries', paper: '1.27', origin: 'text' },
  ],
  ways: [
    {
      id: 'measured',
      kind: 'measured',
      how: 'kv bench with the keys of one to four of four servers; every write has three backups.',
      command: reproduceCommand(ID),
      minutes: 4,
      rivals: ['replication by messages'],
      run: measure,
    },
  ],
};
