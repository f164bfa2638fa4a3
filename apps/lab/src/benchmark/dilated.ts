import { presets, type SimulateOptions } from '@rdmc/simulator';
import type { Runs, Way } from '../catalogue/figure.js';
import type { Outcome } from '../record/record.js';
import { type Reports, simulateAll, simulated } from '../simulation/sweep.js';
import { KIB, MIB, rounded } from '../simulation/values.js';
import { jsonOf, shown } from './command.js';

const MEMBERS = [8, 32, 64, 128];
const RATE_MBIT = 25;
const BYTES = 8 * MIB;
const BLOCK_BYTES = 64 * KIB;
/** Beyond it everything is sent one after the other with a part of the bytes. */
const MOST_SEQUENTIAL = 32;
const FRACTION = 16;
/** Of 1,514 bytes of a frame on the shaped link 1,448 are data of TCP. */
const GOODPUT = 1448 / 1514;
const ALGORITHMS = ['binomial-pipeline', 'chain', 'binomial-tree', 'sequential'] as const;
type Algorithm = (typeof ALGORITHMS)[number];
const ARGS = [
  'tools/bench/network/run.mjs',
  'dilated',
  ...['--members', MEMBERS.join(), '--rate', `${RATE_MBIT}mbit`, '--mib', String(BYTES / MIB), '--json'],
];
const CAST = 'rdmc cast, once connected';
const NAMES = [...ALGORITHMS, CAST];

/** What is measured, or predicted: seconds by name and number of members. */
export type Seconds = (name: string, n: number) => number | null;

interface Row {
  readonly n: number;
  readonly name: string;
  readonly seconds: number;
  readonly formed?: number;
}

const bytesOf = (algorithm: Algorithm, n: number) =>
  algorithm === 'sequential' && n > MOST_SEQUENTIAL ? BYTES / FRACTION : BYTES;
const key = (algorithm: Algorithm, n: number) => `${algorithm}, n=${n}`;

/** The members of the benchmark on simulated links, with the costs of the preset netlab. */
export function dilatedRuns(): Runs {
  const cluster = { ...presets.get('netlab')!, gbitPerSecond: (RATE_MBIT / 1000) * GOODPUT };
  const runs = new Map<string, SimulateOptions>();
  for (const algorithm of ALGORITHMS) {
    for (const nodes of MEMBERS) {
      const options = { cluster, nodes, algorithm, byteLength: bytesOf(algorithm, nodes) };
      runs.set(key(algorithm, nodes), { ...options, blockBytes: BLOCK_BYTES });
    }
  }
  return runs;
}

/** A cast of one file is one group with these blocks. */
export function predictedSeconds(reports: Reports): Seconds {
  return (name, n) => {
    const algorithm = name === CAST ? 'binomial-pipeline' : (name as Algorithm);
    return reports.milliseconds(key(algorithm, n)) / 1000;
  };
}

const isPart = (name: string, n: number) => name === 'sequential' && n > MOST_SEQUENTIAL;
/** Measured with a part of the bytes: as long as the whole would take. */
const whole = (seconds: Seconds, name: string, n: number) => {
  const found = seconds(name, n);
  return found === null || !isPart(name, n) ? found : found * FRACTION;
};

const NOTE = `Sequential sending to more than ${MOST_SEQUENTIAL} members is that of 1/${FRACTION} of the bytes, times ${FRACTION}.`;

function panelOf(title: string, seconds: Seconds): Outcome['panels'][number] {
  return {
    title,
    description:
      'Seconds until the last of n members has 8 MiB in blocks of 64 KiB; both axes are logarithmic. Lower is better.',
    kind: 'lines',
    x: { label: 'members, the sender included', values: MEMBERS.map(String) },
    y: { label: 'seconds', scale: 'log10', digits: 3 },
    series: NAMES.map((name) => ({
      name,
      values: MEMBERS.map((n) => {
        const found = whole(seconds, name, n);
        return found === null ? null : rounded(found, 3);
      }),
      own: name === 'binomial-pipeline' || name === CAST,
    })),
  };
}

const PIPELINE = 'binomial-pipeline';

function flat(seconds: Seconds): string {
  const [few, many] = [seconds(PIPELINE, MEMBERS[0]!), seconds(PIPELINE, MEMBERS.at(-1)!)];
  return few === null || many === null ? 'not measured' : (many / few).toFixed(3);
}

/** Measured numbers, with those that were predicted before. Exported for tests. */
export function dilatedOutcome(rows: readonly Row[], predicted: Seconds): Outcome {
  const row = (name: string, n: number) => rows.find((each) => each.name === name && each.n === n);
  const seconds: Seconds = (name, n) => row(name, n)?.seconds ?? null;
  const error = (name: string, n: number) => {
    const [real, expected] = [seconds(name, n), predicted(name, n)];
    return real === null || expected === null ? null : (100 * (expected - real)) / real;
  };
  const at64 = error(PIPELINE, 64);
  const formed = row(PIPELINE, 128)?.formed;
  return {
    panels: [
      panelOf(`8 MiB to many real members, links of ${RATE_MBIT} Mbit/s`, seconds),
      {
        title: 'Prediction over measurement',
        description:
          'Percent by which the predicted time is longer (+) or shorter (−) than the measured one.',
        kind: 'table',
        x: { label: 'members', values: MEMBERS.map(String) },
        y: { label: 'percent', scale: 'linear', digits: 1 },
        series: NAMES.map((name) => ({
          name,
          values: MEMBERS.map((n) => {
            const found = error(name, n);
            return found === null ? null : rounded(found, 1);
          }),
        })),
      },
    ],
    facts: {
      'flat-128': flat(seconds),
      error: at64 === null ? 'not measured' : `${at64.toFixed(1)}%`,
      ...(formed === undefined ? {} : { formed: `${formed.toFixed(2)} s` }),
    },
    notes: [NOTE],
    missing: [],
  };
}

/** The prediction, and then the measurement. */
export function dilatedWays(figure: string): readonly Way[] {
  const sweep = {
    figure,
    kind: 'predicted',
    how:
      `The next way, simulated before it was measured: links of ${RATE_MBIT} Mbit/s (of which TCP leaves ` +
      `${(100 * GOODPUT).toFixed(1)}% for data), costs and queues of the preset netlab, shipped windows.`,
    minutes: 1,
    runs: dilatedRuns,
    outcome: (reports: Reports): Outcome => ({
      panels: [
        panelOf(`8 MiB to many members, links of ${RATE_MBIT} Mbit/s, simulated`, predictedSeconds(reports)),
      ],
      facts: { 'flat-128': flat(predictedSeconds(reports)) },
      notes: [
        NOTE,
        'A cast is predicted as the group of its blocks, without files, encryption and its start.',
      ],
      missing: [],
    }),
  } as const;
  const prediction = {
    ...simulated(sweep),
    id: 'netlab-predicted',
    name: 'simulator, links of 25 Mbit/s',
  };
  return [prediction, measured(sweep)];
}

function measured(sweep: { readonly runs: () => Runs }): Way {
  return {
    id: 'netlab',
    name: 'network namespaces, 25 Mbit/s',
    kind: 'measured',
    how:
      `Real processes of the shipped code, each in a network namespace with a link of ${RATE_MBIT} Mbit/s, so that two ` +
      'cores carry 128 of them; groups of all algorithms, and rdmc cast from file to file.',
    command: shown(ARGS),
    minutes: 25,
    rivals: ['other algorithms'],
    needsRoot: true,
    run: async (bench) => {
      const { rows } = jsonOf<{ rows: Row[] }>(await bench.command(ARGS), shown(ARGS));
      return dilatedOutcome(rows, predictedSeconds(await simulateAll(sweep.runs(), bench)));
    },
  };
}
