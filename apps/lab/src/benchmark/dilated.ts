import { presets, type SimulateOptions } from '@rdmc/simulator';
import type { Runs, Way } from '../catalogue/figure.js';
import type { Outcome } from '../record/record.js';
import { type Reports, simulateAll, simulated } from '../simulation/sweep.js';
import { KIB, MIB, rounded } from '../simulation/values.js';
import { jsonOf, shown } from './command.js';

const BYTES = 8 * MIB;
const BLOCK_BYTES = 64 * KIB;
/** Beyond it everything is sent one after the other with a part of the bytes. */
const MOST_SEQUENTIAL = 32;
const FRACTION = 16;
/** Of 1,514 bytes of a frame on the shaped link 1,448 are data of TCP. */
const GOODPUT = 1448 / 1514;
const ALGORITHMS = ['binomial-pipeline', 'chain', 'binomial-tree', 'sequential'] as const;
type Algorithm = (typeof ALGORITHMS)[number];
const CAST = 'rdmc cast, once connected';

/** A sweep: the rate of the links, in Mbit/s, and who takes part. */
interface Setting {
  readonly id: string;
  readonly rate: number;
  /** Longest wait in the queue before a link, in milliseconds. */
  readonly queue: number;
  readonly members: readonly number[];
  readonly algorithms: readonly Algorithm[];
  /** Further options of the benchmark. */
  readonly more: readonly string[];
  readonly minutes: number;
  readonly how: string;
  readonly notes: readonly string[];
}

const SEQUENTIAL_NOTE = `Sequential sending to more than ${MOST_SEQUENTIAL} members is that of 1/${FRACTION} of the bytes, times ${FRACTION}.`;

/** Everything, on links on which two cores carry 64 members. */
const ALL: Setting = {
  id: 'netlab',
  rate: 25,
  queue: 50,
  members: [8, 32, 64, 128],
  algorithms: ALGORITHMS,
  more: [],
  minutes: 25,
  how: 'groups of all algorithms, and rdmc cast from file to file. Two cores carry 64 members so; 128 are more than they carry.',
  notes: [SEQUENTIAL_NOTE],
};

/** A queue of 50 ms does not hold a block of 64 KiB there. */
const SLOW_QUEUE = 200;
/** Links so slow that two cores carry 128 members. */
const SLOW: Setting = {
  id: 'netlab-10',
  rate: 10,
  queue: SLOW_QUEUE,
  members: [8, 64, 128],
  algorithms: ['binomial-pipeline', 'chain'],
  more: [
    ...['--only', 'rdmc', '--algorithm', 'binomial-pipeline,chain', '--window-ms', '0'],
    ...['--queue', `${SLOW_QUEUE}ms`],
  ],
  minutes: 5,
  how: 'groups only. Their threads sleep when there is nothing to do: 128 members that poll would take the two cores from one another.',
  notes: [
    `Queues before the links are of ${SLOW_QUEUE} ms: at this rate a queue of 50 ms, as elsewhere, does not hold one block.`,
  ],
};

const argsOf = ({ members, rate, more }: Setting) => [
  ...['tools/bench/network/run.mjs', 'dilated', '--members', members.join(), '--rate', `${rate}mbit`],
  ...['--mib', String(BYTES / MIB), ...more, '--json'],
];
const namesOf = ({ algorithms, id }: Setting): readonly string[] =>
  id === ALL.id ? [...algorithms, CAST] : algorithms;

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
export function dilatedRuns({ rate, queue, algorithms, members }: Setting = ALL): Runs {
  const link = { gbitPerSecond: (rate / 1000) * GOODPUT, queueMicroseconds: queue * 1000 };
  const cluster = { ...presets.get('netlab')!, ...link };
  const runs = new Map<string, SimulateOptions>();
  for (const algorithm of algorithms) {
    for (const nodes of members) {
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

function panelOf(title: string, seconds: Seconds, setting: Setting): Outcome['panels'][number] {
  return {
    title,
    description:
      'Seconds until the last of n members has 8 MiB in blocks of 64 KiB; both axes are logarithmic. Lower is better.',
    kind: 'lines',
    x: { label: 'members, the sender included', values: setting.members.map(String) },
    y: { label: 'seconds', scale: 'log10', digits: 3 },
    series: namesOf(setting).map((name) => ({
      name,
      values: setting.members.map((n) => {
        const found = whole(seconds, name, n);
        return found === null ? null : rounded(found, 3);
      }),
      own: name === 'binomial-pipeline' || name === CAST,
    })),
  };
}

const PIPELINE = 'binomial-pipeline';

function flat(seconds: Seconds, { members }: Setting): string {
  const [few, many] = [seconds(PIPELINE, members[0]!), seconds(PIPELINE, members.at(-1)!)];
  return few === null || many === null ? 'not measured' : (many / few).toFixed(3);
}

/** Measured numbers, with those that were predicted before. Exported for tests. */
export function dilatedOutcome(rows: readonly Row[], predicted: Seconds, setting: Setting = ALL): Outcome {
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
      panelOf(`8 MiB to many real members, links of ${setting.rate} Mbit/s`, seconds, setting),
      {
        title: 'Prediction over measurement',
        description:
          'Percent by which the predicted time is longer (+) or shorter (−) than the measured one.',
        kind: 'table',
        x: { label: 'members', values: setting.members.map(String) },
        y: { label: 'percent', scale: 'linear', digits: 1 },
        series: namesOf(setting).map((name) => ({
          name,
          values: setting.members.map((n) => {
            const found = error(name, n);
            return found === null ? null : rounded(found, 1);
          }),
        })),
      },
    ],
    facts: {
      'flat-128': flat(seconds, setting),
      error: at64 === null ? 'not measured' : `${at64.toFixed(1)}%`,
      ...(formed === undefined ? {} : { formed: `${formed.toFixed(2)} s` }),
    },
    notes: [...setting.notes],
    missing: [],
  };
}

/** Each prediction, and then its measurement. */
export function dilatedWays(figure: string): readonly Way[] {
  return [ALL, SLOW].flatMap((setting) => [predicted(figure, setting), measured(setting)]);
}

function predicted(figure: string, setting: Setting): Way {
  const { id, rate } = setting;
  const way = simulated({
    figure,
    kind: 'predicted',
    how:
      `The next way, simulated before it was measured: links of ${rate} Mbit/s (of which TCP leaves ` +
      `${(100 * GOODPUT).toFixed(1)}% for data), costs and queues of the preset netlab, shipped windows.`,
    minutes: 1,
    runs: () => dilatedRuns(setting),
    outcome: (reports: Reports): Outcome => {
      const seconds = predictedSeconds(reports);
      const hasCast = namesOf(setting).includes(CAST);
      return {
        panels: [panelOf(`8 MiB to many members, links of ${rate} Mbit/s, simulated`, seconds, setting)],
        facts: { 'flat-128': flat(seconds, setting) },
        notes: [
          ...setting.notes,
          ...(hasCast
            ? ['A cast is predicted as the group of its blocks, without files, encryption and its start.']
            : []),
        ],
        missing: [],
      };
    },
  });
  return { ...way, id: `${id}-predicted`, name: `simulator, links of ${rate} Mbit/s` };
}

function measured(setting: Setting): Way {
  const { id, rate, minutes, how } = setting;
  const args = argsOf(setting);
  return {
    id,
    name: `network namespaces, ${rate} Mbit/s`,
    kind: 'measured',
    how: `Real processes of the shipped code, each in a network namespace with a link of ${rate} Mbit/s: ${how}`,
    command: shown(args),
    minutes,
    rivals: ['other algorithms'],
    needsRoot: true,
    run: async (bench) => {
      const { rows } = jsonOf<{ rows: Row[] }>(await bench.command(args), shown(args));
      const expected = predictedSeconds(await simulateAll(dilatedRuns(setting), bench));
      return dilatedOutcome(rows, expected, setting);
    },
  };
}
