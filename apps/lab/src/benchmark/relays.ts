import type { Way } from '../catalogue/figure.js';
import type { Outcome } from '../record/record.js';
import { failed, jsonOf, shown } from './command.js';

const ARGS = ['tools/bench/multicast/run.mjs', 'relays'];
const ALGORITHM = 'chain';
const LARGE_MIB = 256;

interface Row {
  readonly n: number;
  readonly algorithm: string;
  readonly mib: number;
  readonly workerMs: number;
  readonly deviceMs: number;
}

/** Chains of 256 MiB, relayed by threads and by the device. Exported for tests. @throws LabError */
export function relaysOutcome(rows: readonly Row[]): Outcome {
  const chains = rows.filter(({ algorithm, mib }) => algorithm === ALGORITHM && mib === LARGE_MIB);
  if (chains.length === 0) throw failed('the benchmark of relays did not print a chain');
  const gains = chains.map(({ n, workerMs, deviceMs }) => {
    const percent = 100 * (workerMs / deviceMs - 1);
    return `${percent.toFixed(0)}% (n = ${n})`;
  });
  return {
    panels: [
      {
        title: 'A chain of 256 MiB among processes of one host',
        description: 'Milliseconds until the last member has it, over shared memory. Lower is better.',
        kind: 'lines',
        x: { label: 'processes', values: chains.map(({ n }) => n) },
        y: { label: 'milliseconds', scale: 'linear', digits: 1 },
        series: [
          { name: 'relayed by the device', values: chains.map(({ deviceMs }) => deviceMs), own: true },
          { name: 'relayed by threads', values: chains.map(({ workerMs }) => workerMs), own: true },
        ],
      },
    ],
    facts: { hybrid: gains.join(', ') },
    notes: [
      'Links are memory here, and the device is software: it shares the two cores with the threads that it relieves.',
    ],
    missing: [],
  };
}

/** Real groups whose soft devices relay, beside groups whose threads do. */
export function relaysOnOneHost(): Way {
  return {
    id: 'measured',
    kind: 'measured',
    how: 'Real groups over the soft device, whose requests wait for blocks (relay "device"), beside relays by threads, by turns.',
    command: shown(ARGS),
    minutes: 15,
    rivals: [],
    run: async (bench) =>
      relaysOutcome(jsonOf<{ result: Row[] }>(await bench.command(ARGS), shown(ARGS)).result),
  };
}
