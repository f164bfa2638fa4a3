import type { Bench } from '../catalogue/figure.js';
import type { Outcome } from '../record/record.js';
import { failed, jsonOf, shown } from './command.js';

export const WORKLOADS = [
  { id: 'b', name: 'YCSB B' },
  { id: 'a', name: 'YCSB A' },
  { id: 'write-only', name: 'write-only' },
] as const;
type Workload = (typeof WORKLOADS)[number]['id'];

const MODES = [
  { id: 'one-sided', name: 'one-sided' },
  { id: 'rpc', name: 'messages' },
] as const;
export const CLIENTS = [1, 4, 10, 20, 30];
const SECONDS = '3';
const RECORDS = '20000';

/** A cluster of its own for each run: five servers, three backups of each write. */
export function ycsbArgs(workload: string, mode: string, clients: number): string[] {
  const load = ['-w', workload, '--mode', mode, '-c', String(clients)];
  return ['apps/kv/dist/main.js', 'bench', ...load, '-t', SECONDS, '--records', RECORDS, '--json'];
}

/** Operations per second of a run of `kv bench`. An error reply is faster than a write: with errors there is not a rate. */
export function rateOf(output: string, command: string): number {
  const { perSecond, errors } = jsonOf<{ perSecond: number; errors: number }>(output, command);
  if (errors > 0) throw failed(`${command} had ${errors} error replies`);
  return perSecond;
}

/** Operations per second by workload, mode and clients. */
export type Rates = ReadonlyMap<string, number>;
export const rateKey = (workload: Workload, mode: string, clients: number) =>
  `${workload} ${mode} ${clients}`;

/** Runs the whole sweep; the modes take turns. */
export async function measureRates(bench: Bench): Promise<Rates> {
  const rates = new Map<string, number>();
  for (const { id: workload } of WORKLOADS) {
    for (const clients of CLIENTS) {
      for (const { id: mode } of MODES) {
        const args = ycsbArgs(workload, mode, clients);
        const perSecond = rateOf(await bench.command(args), shown(args));
        rates.set(rateKey(workload, mode, clients), perSecond);
        bench.say(`  ${workload}, ${clients} clients, ${mode}: ${perSecond} operations/s`);
      }
    }
  }
  return rates;
}

/** The figure of a sweep. */
export function ratesOutcome(rates: Rates): Outcome {
  const rate = (workload: Workload, mode: string, clients: number) =>
    rates.get(rateKey(workload, mode, clients))!;
  const most = CLIENTS.at(-1)!;
  const ratio = (workload: Workload) =>
    (rate(workload, 'one-sided', most) / rate(workload, 'rpc', most)).toFixed(2);
  return {
    panels: WORKLOADS.map(({ id, name }) => ({
      title: `${name}: operations per second of five servers`,
      description: 'By the number of clients, which share the processors with the servers. Higher is better.',
      kind: 'lines',
      x: { label: 'clients', values: [...CLIENTS] },
      y: { label: 'operations per second', scale: 'linear', digits: 0 },
      series: MODES.map((mode) => ({
        name: mode.name,
        values: CLIENTS.map((clients) => rate(id, mode.id, clients)),
        own: mode.id === 'one-sided',
      })),
    })),
    facts: { b: ratio('b'), a: ratio('a'), w: ratio('write-only') },
    notes: [`One run of ${SECONDS} s for each point; facts are of ${most} clients.`],
    missing: [],
  };
}
