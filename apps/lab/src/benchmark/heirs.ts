import type { Way } from '../catalogue/figure.js';
import type { Outcome } from '../record/record.js';
import { failed, jsonOf, shown } from './command.js';

const HEIRS = [2, 4, 10];
const OBJECTS = 300_000;
const CPU_PERCENT = 15;
/** The same for all, so that all recover and write the same bytes. Two heirs can have one backup each. */
const REPLICAS = 1;

const argsOf = (heirs: number) => [
  ...[
    'tools/bench/kv/recovery.mjs',
    '--servers',
    String(heirs + 1),
    '--on-one',
    '--objects',
    String(OBJECTS),
  ],
  ...['--replicas', String(REPLICAS), '--cpu', String(CPU_PERCENT), '--rounds', '3', '--json'],
];

interface Row {
  readonly heirs: number;
  readonly seconds: number;
}

/** Recoveries by the number of heirs. Exported for tests. @throws LabError */
export function heirsOutcome(rows: readonly Row[]): Outcome {
  const secondsOf = (heirs: number) => {
    const found = rows.find((row) => row.heirs === heirs);
    if (found === undefined) throw failed(`the benchmark of recovery did not print ${heirs} heirs`);
    return found.seconds;
  };
  const [fewest] = HEIRS as [number];
  const speedUps = HEIRS.slice(1).map(
    (heirs) =>
      `${(secondsOf(fewest) / secondsOf(heirs)).toFixed(2)} (${heirs} heirs; ideal ${heirs / fewest})`,
  );
  return {
    panels: [
      {
        title: `Recovery of ${OBJECTS / 1000},000 objects of a killed server, by the servers that share it`,
        description:
          `Seconds from the end of the lease until all slots answer. Each server is held to ${CPU_PERCENT}% of a processor. ` +
          'Both axes are logarithmic. Lower is better.',
        kind: 'lines',
        x: { label: 'heirs, each also a backup', scale: 'log2', values: HEIRS },
        y: { label: 'seconds', scale: 'log10', digits: 2 },
        series: [{ name: 'kv', values: HEIRS.map(secondsOf), own: true }],
      },
    ],
    facts: { heirs: `over ${fewest} heirs: ${speedUps.join(', ')}` },
    notes: [
      'Medians of three rounds. Keys of 16 bytes, values of 100, one backup of every write, before and after the recovery.',
      `Two cores cannot run ten servers at full speed, so each may use ${CPU_PERCENT}% of one from the kill on: ten use 1.5. The times ` +
        'say how the work divides, not how long a recovery takes.',
      'One heir is not possible: it needs a server for its backups, which then is an heir too.',
    ],
    missing: [],
  };
}

/** Servers of kv that recover the keys of one that was killed, each held to a share of a processor. */
export function recoveryByHeirs(): Way {
  return {
    id: 'heirs',
    name: 'kv, 2 to 10 heirs',
    kind: 'measured',
    how: `kv with 3, 5 and 11 servers; one that has ${OBJECTS / 1000},000 objects is killed, and 2, 4 or 10 recover it together.`,
    command: HEIRS.map((heirs) => shown(argsOf(heirs))).join(' && '),
    minutes: 5,
    rivals: [],
    needsRoot: true,
    run: async (bench) => {
      const rows: Row[] = [];
      for (const heirs of HEIRS) {
        const args = argsOf(heirs);
        rows.push(jsonOf<Row>(await bench.command(args), shown(args)));
        bench.say(`  ${heirs} heirs: ${rows.at(-1)!.seconds.toFixed(2)} s`);
      }
      return heirsOutcome(rows);
    },
  };
}
