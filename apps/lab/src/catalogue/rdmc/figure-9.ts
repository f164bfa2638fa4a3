import type { SimulateObjectsOptions, SimulationReport } from '@rdmc/simulator';
import { cosmosOnNetlab } from '../../benchmark/cosmos.js';
import type { Outcome } from '../../record/record.js';
import { type Reports, simulated } from '../../simulation/sweep.js';
import { line } from '../../simulation/values.js';
import type { Figure, Runs } from '../figure.js';
import { BLOCK_BYTES, cosmosLoad } from './cosmos-load.js';

const ID = 'rdmc-9';
const NODES = 16;
const OBJECTS = 600;
const ALGORITHMS = ['sequential', 'binomial-tree', 'binomial-pipeline'] as const;
/** Objects under way: one at a time gives latencies, several keep the link of the generator busy. */
const UNDER_WAY = [1, 4];
const PERCENTILES = [1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99];
const PETABYTE = 1e15;
const DAY_US = 86_400e6;

const key = (algorithm: string, inFlight: number) => `${algorithm}, ${inFlight} under way`;

function runs(): Runs {
  const objects = cosmosLoad(OBJECTS);
  const all = new Map<string, SimulateObjectsOptions>();
  for (const algorithm of ALGORITHMS) {
    for (const inFlight of UNDER_WAY) {
      const options = {
        cluster: 'fractus',
        nodes: NODES,
        algorithm,
        blockBytes: BLOCK_BYTES,
        inFlight,
        objects,
      };
      all.set(key(algorithm, inFlight), options);
    }
  }
  return all;
}

/** Latencies in milliseconds, ascending. */
function latencies({ messages }: SimulationReport): number[] {
  return messages.map(({ sentAt, completeAt }) => (completeAt - sentAt) / 1000).sort((a, b) => a - b);
}

function percentile(sorted: readonly number[], percent: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))]!;
}

function outcome(reports: Reports): Outcome {
  const sorted = new Map(ALGORITHMS.map((name) => [name, latencies(reports.of(key(name, 1)))]));
  const mean = (name: (typeof ALGORITHMS)[number]) => {
    const all = sorted.get(name)!;
    return all.reduce((sum, each) => sum + each, 0) / all.length;
  };
  const pipeline = mean('binomial-pipeline');
  const rates = UNDER_WAY.map((inFlight) => reports.of(key('binomial-pipeline', inFlight)).gbitPerSecond);
  const perDay = (rate: number) => (rate * 125 * DAY_US) / PETABYTE;
  const slowest = rates.at(-1)!;
  return {
    panels: [
      {
        title: 'Latency of an object in a Cosmos-like load, one at a time',
        description: `Milliseconds until all three replicas have an object, ${OBJECTS} objects to 455 groups. Lower is better.`,
        kind: 'lines',
        x: { label: 'percent of objects that are not slower', values: PERCENTILES },
        y: { label: 'milliseconds', scale: 'log10', digits: 3 },
        series: ALGORITHMS.map((name) => ({
          ...line(name, PERCENTILES, 3, (percent) => percentile(sorted.get(name)!, percent)),
          own: name === 'binomial-pipeline',
        })),
      },
      {
        title: 'Data replicated by one generator',
        description: 'Gbit/s of objects, whose bytes are counted once. Higher is better.',
        kind: 'bars',
        x: { label: 'objects under way', values: UNDER_WAY.map(String) },
        y: { label: 'Gbit/s', scale: 'linear', digits: 1 },
        series: ALGORITHMS.map((name) => ({
          ...line(name, UNDER_WAY, 1, (inFlight) => reports.of(key(name, inFlight)).gbitPerSecond),
          own: name === 'binomial-pipeline',
        })),
      },
    ],
    facts: {
      tree: `${(mean('binomial-tree') / pipeline).toFixed(2)}`,
      sequential: `${(mean('sequential') / pipeline).toFixed(2)}`,
      rate: `${rates.map((rate) => rate.toFixed(1)).join(' / ')} Gbit/s with ${UNDER_WAY.join(' / ')} under way`,
      day: `${perDay(slowest).toFixed(2)} PB`,
    },
    notes: [
      'The trace is not public. The sizes are log-normal with its median (12 MB) and its mean (29 MB), from 300 B to 900 MB; ' +
        'the groups are drawn at random.',
      'Groups exist before the first object, as in the paper. Latency is from the call of send until the last member has the ' +
        'object; its ratios are those of the mean latency.',
    ],
    missing: [],
  };
}

export const figure9: Figure = {
  id: ID,
  paper: 'rdmc',
  label: 'Figure 9',
  title: 'A Cosmos-like load over 455 overlapping groups',
  shows:
    'One node of Fractus generates objects of the sizes of a trace of Cosmos, and replicates each to a random group of 3 of ' +
    '15 nodes. Latency distribution of three algorithms.',
  facts: [
    { id: 'tree', quantity: 'binomial tree over pipeline, latency', paper: 'almost 2', origin: 'text' },
    { id: 'sequential', quantity: 'sequential over pipeline, latency', paper: 'around 3', origin: 'text' },
    { id: 'rate', quantity: 'data replicated', paper: 'around 93 Gbit/s', origin: 'text' },
    { id: 'memory', quantity: 'memory of all 16 processes', paper: 'not in the text', origin: 'text' },
    { id: 'day', quantity: 'per day', paper: 'about a petabyte', origin: 'text' },
  ],
  ways: [
    cosmosOnNetlab(),
    simulated({
      figure: ID,
      kind: 'predicted',
      how: 'The simulator with the preset fractus and shipped windows; 455 groups on 16 hosts, each host with one thread.',
      minutes: 2,
      runs,
      outcome,
    }),
  ],
};
