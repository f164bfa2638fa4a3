import type { Way } from '../catalogue/figure.js';
import type { Outcome, Panel } from '../record/record.js';
import { failed, jsonOf, shown } from './command.js';

const ARGS = ['tools/bench/multicast/run.mjs', 'relays'];
const MIB = 100;
const WAITS = [
  { windowMs: 50, name: 'polling and interrupts', fact: 'hybrid' },
  { windowMs: 0, name: 'interrupts only', fact: 'interrupts' },
] as const;
const ENV = {
  BENCH_ALGORITHMS: 'chain',
  BENCH_MEMBERS: '3,4,8,16',
  BENCH_MIB: String(MIB),
  BENCH_WINDOW_MS: WAITS.map(({ windowMs }) => windowMs).join(),
};

interface Row {
  readonly n: number;
  readonly windowMs: number;
  readonly workerMs: number;
  readonly deviceMs: number;
}

function panelOf(name: string, rows: readonly Row[]): Panel {
  return {
    title: `A chain of ${MIB} MiB among processes of one host: ${name}`,
    description: 'Milliseconds until the last member has it, over shared memory. Lower is better.',
    kind: 'lines',
    x: { label: 'processes', values: rows.map(({ n }) => n) },
    y: { label: 'milliseconds', scale: 'linear', digits: 1 },
    series: [
      { name: 'relayed by the device', values: rows.map(({ deviceMs }) => deviceMs), own: true },
      { name: 'relayed by threads', values: rows.map(({ workerMs }) => workerMs), own: true },
    ],
  };
}

const gains = (rows: readonly Row[]) =>
  rows
    .map(({ n, workerMs, deviceMs }) => `${(100 * (workerMs / deviceMs - 1)).toFixed(0)}% (n = ${n})`)
    .join(', ');

/** Chains, relayed by threads and by the device. Exported for tests. @throws LabError */
export function relaysOutcome(all: readonly Row[]): Outcome {
  const parts = WAITS.map((wait) => ({ ...wait, rows: all.filter((row) => row.windowMs === wait.windowMs) }));
  const absent = parts.find(({ rows }) => rows.length === 0);
  if (absent) throw failed(`the benchmark of relays did not print a chain: ${absent.name}`);
  return {
    panels: parts.map(({ name, rows }) => panelOf(name, rows)),
    facts: Object.fromEntries(parts.map(({ fact, rows }) => [fact, gains(rows)])),
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
    name: 'one host',
    kind: 'measured',
    how: 'Real groups over the soft device, whose requests wait for blocks (relay "device"), beside relays by threads, by turns.',
    command: shown(ARGS, ENV),
    minutes: 4,
    rivals: [],
    run: async (bench) =>
      relaysOutcome(jsonOf<{ result: Row[] }>(await bench.command(ARGS, ENV), shown(ARGS, ENV)).result),
  };
}
