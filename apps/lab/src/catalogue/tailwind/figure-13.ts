import { jsonOf, shown } from '../../benchmark/command.js';
import { recoveryByHeirs } from '../../benchmark/heirs.js';
import type { Outcome } from '../../record/record.js';
import { simulatedRecovery } from '../../simulation/recovery.js';
import type { Figure } from '../figure.js';

const BACKUPS = 10;
const OBJECTS = [1_000_000, 10_000_000];
const argsOf = (objects: number) => [
  ...['packages/tailwind/bench/recovery.mjs', '--objects', String(objects)],
  ...['--backups', String(BACKUPS), '--json'],
];

interface Row {
  readonly mode: string;
  readonly objects: number;
  readonly seconds: number;
}

/** The figure of the benchmark's rows. Exported for tests. */
export function recoveryOutcome(rows: readonly Row[]): Outcome {
  const seconds = (mode: string, objects: number) =>
    rows.find((row) => row.mode === mode && row.objects === objects)?.seconds ?? null;
  const both = (objects: number) =>
    ['one-sided', 'rpc'].map((mode) => seconds(mode, objects)?.toFixed(2) ?? '–').join(' / ');
  const [few, many] = OBJECTS as [number, number];
  return {
    panels: [
      {
        title: `Recovery of a server from ${BACKUPS} backups, one process`,
        description: 'Seconds from the request to an index of all objects. Lower is better.',
        kind: 'bars',
        x: { label: 'objects', values: OBJECTS.map((objects) => `${objects / 1e6} million`) },
        y: { label: 'seconds', scale: 'linear', digits: 2 },
        series: [
          { name: 'one-sided', values: OBJECTS.map((objects) => seconds('one-sided', objects)), own: true },
          { name: 'messages', values: OBJECTS.map((objects) => seconds('rpc', objects)) },
        ],
      },
    ],
    facts: { million: `${both(few)} s`, ten: `${both(many)} s` },
    notes: ['One run for each. One process reads everything; all backups share two cores of one host.'],
    missing: [],
  };
}

export const figure13: Figure = {
  id: 'tailwind-13',
  paper: 'tailwind',
  label: 'Figure 13',
  title: 'Recovery',
  shows: 'Time to recover 1 and 10 million objects of a server with 10 backups.',
  facts: [
    { id: 'million', quantity: '1 million: one-sided / messages', paper: '0.5 / 0.48 s', origin: 'text' },
    { id: 'ten', quantity: '10 million', paper: '2.5 s both', origin: 'text' },
    { id: 'heirs', quantity: 'speed-up by recovery masters', paper: 'not in the text', origin: 'text' },
  ],
  ways: [
    simulatedRecovery(),
    recoveryByHeirs(),
    {
      id: 'ten-backups',
      name: 'ten backups, one reader',
      kind: 'measured',
      how: 'Logs of 1 and 10 million objects with ten backups, recovered by one process: from the request to an index.',
      command: OBJECTS.map((objects) => shown(argsOf(objects))).join(' && '),
      minutes: 6,
      rivals: ['replication by messages'],
      run: async (bench) => {
        const rows: Row[] = [];
        for (const objects of OBJECTS) {
          const args = argsOf(objects);
          rows.push(...jsonOf<{ rows: Row[] }>(await bench.command(args), shown(args)).rows);
        }
        return recoveryOutcome(rows);
      },
    },
    {
      id: 'measured',
      name: 'three backups, one reader',
      kind: 'measured',
      how: 'A log of 1 million objects with three backups, recovered by one process: from the request to an index.',
      command: 'node packages/tailwind/bench/recovery.mjs',
      minutes: 3,
      rivals: ['replication by messages'],
    },
  ],
  lacks:
    'Ten million objects with ten recovery masters, measured: two cores cannot run the ten servers of the paper. The ways here have ten ' +
    'masters that are slowed down, and one process that reads everything from ten backups.',
};
