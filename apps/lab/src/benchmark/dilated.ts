import { presets, type SimulateOptions } from '@rdmc/simulator';
import { type Runs, reproduceCommand, type Way } from '../catalogue/figure.js';
import type { FigureRecord, Outcome } from '../record/record.js';
import { type Reports, simulated } from '../simulation/sweep.js';
import { KIB, MIB, rounded } from '../simulation/values.js';
import { jsonOf, shown } from './command.js';
import {
  ALL,
  type Algorithm,
  BLOCK_BYTES,
  BUCKET_BYTES,
  BYTES,
  FRACTION,
  MOST_SEQUENTIAL,
  type Setting,
  SLOW,
} from './dilated-settings.js';
import { skewPanels } from './skew.js';

/** Of 1,514 bytes of a frame on the shaped link 1,448 are data of TCP. */
const GOODPUT = 1448 / 1514;
const CAST = 'rdmc cast, once connected';

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
  /** From the first receiver to the last one. Older benchmarks do not print it. */
  readonly skew?: number;
  readonly formed?: number;
}

const bytesOf = (algorithm: Algorithm, n: number) =>
  algorithm === 'sequential' && n > MOST_SEQUENTIAL ? BYTES / FRACTION : BYTES;
const key = (algorithm: Algorithm, n: number) => `${algorithm}, n=${n}`;

/** The members of the benchmark on simulated links, with the costs of the preset netlab. */
export function dilatedRuns({ rate, queue, algorithms, members, windowMs }: Setting = ALL): Runs {
  const link = {
    gbitPerSecond: (rate / 1000) * GOODPUT,
    queueMicroseconds: queue * 1000,
    // The shaper counts whole frames, the simulated link data.
    bucketBytes: BUCKET_BYTES * GOODPUT,
  };
  const cluster = { ...presets.get('netlab')!, ...link };
  const runs = new Map<string, SimulateOptions>();
  for (const algorithm of algorithms) {
    for (const nodes of members) {
      const options = { cluster, nodes, algorithm, byteLength: bytesOf(algorithm, nodes) };
      runs.set(key(algorithm, nodes), { ...options, blockBytes: BLOCK_BYTES, windowMs });
    }
  }
  return runs;
}

const isPart = (name: string, n: number) => name === 'sequential' && n > MOST_SEQUENTIAL;
/** Simulated or measured with a part of the bytes: as long as the whole would take. */
const whole =
  (seconds: Seconds): Seconds =>
  (name, n) => {
    const found = seconds(name, n);
    return found === null || !isPart(name, n) ? found : found * FRACTION;
  };

/** A cast of one file is one group with these blocks. */
function predictedSeconds(reports: Reports): Seconds {
  return whole((name, n) => {
    const algorithm = name === CAST ? 'binomial-pipeline' : (name as Algorithm);
    return reports.milliseconds(key(algorithm, n)) / 1000;
  });
}

/** What a record has in its first panel. */
function recordedSeconds({ panels }: FigureRecord): Seconds {
  const [{ x, series }] = panels as [FigureRecord['panels'][number]];
  return (name, n) => {
    const index = x.values.indexOf(n);
    return series.find((each) => each.name === name)?.values[index] ?? null;
  };
}

const isOwn = (name: string) => name === 'binomial-pipeline' || name === CAST;

function panelOf(title: string, seconds: Seconds, setting: Setting): Outcome['panels'][number] {
  return {
    title,
    description:
      'Seconds until the last of n members has 8 MiB in blocks of 64 KiB; both axes are logarithmic. Lower is better.',
    kind: 'lines',
    x: { label: 'members, the sender included', scale: 'log2', values: [...setting.members] },
    y: { label: 'seconds', scale: 'log10', digits: 3 },
    series: namesOf(setting).map((name) => ({
      name,
      values: setting.members.map((n) => {
        const found = seconds(name, n);
        return found === null ? null : rounded(found, 3);
      }),
      own: isOwn(name),
    })),
  };
}

const skewsOf = (skew: Seconds, setting: Setting) =>
  skewPanels(
    `8 MiB, links of ${setting.rate} Mbit/s`,
    { label: 'members, the sender included', scale: 'log2', values: setting.members },
    namesOf(setting).map((name) => ({ name, skew: (n) => skew(name, n), own: isOwn(name) })),
  );

const PIPELINE = 'binomial-pipeline';

function flat(seconds: Seconds, { members }: Setting): string {
  const [few, many] = [seconds(PIPELINE, members[0]!), seconds(PIPELINE, members.at(-1)!)];
  return few === null || many === null ? 'not measured' : (many / few).toFixed(3);
}

/** Percent by which a prediction is longer than what was measured. */
type Errors = (name: string, n: number) => number | null;

function errorsOf(seconds: Seconds, predicted: Seconds): Errors {
  return (name, n) => {
    const [real, expected] = [seconds(name, n), predicted(name, n)];
    return real === null || expected === null ? null : (100 * (expected - real)) / real;
  };
}

function errorsPanel(errors: Errors, setting: Setting): Outcome['panels'][number] {
  return {
    title: 'Prediction over measurement',
    description: 'Percent by which the predicted time is longer (+) or shorter (−) than the measured one.',
    kind: 'table',
    x: { label: 'members', values: setting.members.map(String) },
    y: { label: 'percent', scale: 'linear', digits: 1 },
    series: namesOf(setting).map((name) => ({
      name,
      values: setting.members.map((n) => {
        const found = errors(name, n);
        return found === null ? null : rounded(found, 1);
      }),
    })),
  };
}

const percentOf = (error: number | null) => (error === null ? 'not measured' : `${error.toFixed(1)}%`);

/** Measured numbers, beside those that were recorded as predicted before. Exported for tests. */
export function dilatedOutcome(
  rows: readonly Row[],
  prediction: FigureRecord | undefined,
  setting: Setting = ALL,
): Outcome {
  const row = (name: string, n: number) => rows.find((each) => each.name === name && each.n === n);
  const seconds = whole((name, n) => row(name, n)?.seconds ?? null);
  const skew = whole((name, n) => row(name, n)?.skew ?? null);
  const errors = prediction && errorsOf(seconds, recordedSeconds(prediction));
  const formed = row(PIPELINE, 128)?.formed;
  return {
    panels: [
      panelOf(`8 MiB to many real members, links of ${setting.rate} Mbit/s`, seconds, setting),
      ...skewsOf(skew, setting),
      ...(errors === undefined ? [] : [errorsPanel(errors, setting)]),
    ],
    facts: {
      'flat-128': flat(seconds, setting),
      error: errors === undefined ? 'not predicted' : percentOf(errors(PIPELINE, 64)),
      ...(formed === undefined ? {} : { formed: `${formed.toFixed(2)} s` }),
    },
    notes: [predictionNote(prediction), ...setting.notes, ...setting.measuredNotes],
    missing: [],
  };
}

function predictionNote(prediction: FigureRecord | undefined): string {
  if (prediction === undefined)
    return 'There is not a recorded prediction, so this is not compared with one.';
  const { way, date, commit } = prediction;
  return `The prediction is that of the record ${way}: ${date}, commit ${commit}.`;
}

/** Each prediction, and then its measurement. */
export function dilatedWays(figure: string): readonly Way[] {
  return [ALL, SLOW].flatMap((setting) => [predicted(figure, setting), measured(setting)]);
}

/** The way that predicts a setting. */
const predictedId = ({ id }: Setting) => `${id}-predicted`;

function predicted(figure: string, setting: Setting): Way {
  const { rate } = setting;
  const way = simulated({
    figure,
    kind: 'predicted',
    how:
      `The next way, simulated before it was measured: links of ${rate} Mbit/s (of which TCP leaves ` +
      `${(100 * GOODPUT).toFixed(1)}% for data), costs and queues of the preset netlab, shipped windows, and since 2026-11-30 the ` +
      "bucket of the links' shapers, which the records of 2026-11-24 are without.",
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
          `With the bucket of the shaper of each link: ${BUCKET_BYTES / KIB} KiB.`,
          ...(hasCast
            ? ['A cast is predicted as the group of its blocks, without files, encryption and its start.']
            : []),
        ],
        missing: [],
      };
    },
  });
  return {
    ...way,
    id: predictedId(setting),
    name: `simulator, links of ${rate} Mbit/s`,
    command: reproduceCommand(figure, predictedId(setting)),
  };
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
      // Read before the measurement: the prediction was known then.
      const prediction = bench.recorded(predictedId(setting));
      const { rows } = jsonOf<{ rows: Row[] }>(await bench.command(args), shown(args));
      return dilatedOutcome(rows, prediction, setting);
    },
  };
}
