import type { SimulateOptions } from '@rdmc/simulator';
import { dilatedWays } from '../../benchmark/dilated.js';
import type { Outcome } from '../../record/record.js';
import { type Reports, simulated } from '../../simulation/sweep.js';
import { line, MIB, several } from '../../simulation/values.js';
import type { Figure, Runs } from '../figure.js';
import { COSTS_ARE_ASSUMED } from './common.js';

const ID = 'rdmc-8';
const MEMBERS = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
const MOST_SEQUENTIAL = 512;
/** Every member has 32 receives: many flows share links, so a run takes much longer than with the windows 1/1. */
const MOST_SHIPPED = 512;
const COMMON = { cluster: 'sierra', byteLength: 256 * MIB } as const;

const LINES: readonly {
  readonly name: string;
  readonly most: number;
  readonly options: Partial<SimulateOptions>;
}[] = [
  { name: 'sequential', most: MOST_SEQUENTIAL, options: { algorithm: 'sequential', windows: 'single' } },
  { name: 'pipeline, windows 1/1', most: 4096, options: { windows: 'single' } },
  { name: 'pipeline, of the paper', most: 1024, options: { windows: 'paper' } },
  { name: 'pipeline, shipped', most: MOST_SHIPPED, options: { windows: 'shipped' } },
  { name: 'chain, windows 1/1', most: 1024, options: { algorithm: 'chain', windows: 'single' } },
];

const key = (name: string, nodes: number) => `${name}, n=${nodes}`;

function runs(): Runs {
  const all = new Map<string, SimulateOptions>();
  for (const { name, most, options } of LINES) {
    for (const nodes of MEMBERS.filter((n) => n <= most)) {
      all.set(key(name, nodes), { ...COMMON, ...options, nodes });
    }
  }
  return all;
}

function outcome(reports: Reports): Outcome {
  const ms = (name: string, nodes: number) => reports.milliseconds(key(name, nodes));
  const large = [128, 256, 512];
  const pipeline = (name: string) =>
    several(
      large.map((n) => ms(name, n)),
      1,
    );
  return {
    panels: [
      {
        title: '256 MiB to many members on Sierra',
        description:
          'Milliseconds until the last member has 256 MiB, in blocks of 1 MiB; both axes are logarithmic. Lower is better.',
        kind: 'lines',
        x: { label: 'members, the sender included', scale: 'log2', values: MEMBERS },
        y: { label: 'milliseconds', scale: 'log10', digits: 1 },
        series: LINES.map(({ name, most }) => ({
          ...line(name, MEMBERS, 1, (n) => (n <= most ? ms(name, n) : null)),
          own: name.startsWith('pipeline'),
        })),
      },
    ],
    facts: {
      pipeline: `${pipeline('pipeline, of the paper')} (windows of the paper); ${pipeline('pipeline, shipped')} (shipped)`,
      sequential: several(
        large.map((n) => ms('sequential', n) / 1000),
        1,
      ),
      flat: `${(ms('pipeline, of the paper', 512) / ms('pipeline, of the paper', 128)).toFixed(3)}`,
    },
    notes: [COSTS_ARE_ASSUMED],
    missing: [],
  };
}

export const figure8: Figure = {
  id: ID,
  paper: 'rdmc',
  label: 'Figure 8',
  title: 'To hundreds of members',
  shows:
    '256 MB to up to 512 nodes of Sierra. Sequential sending is linear in the members (its point at 512 is extrapolated); ' +
    'for 127, 255 or 511 copies the binomial pipeline takes almost the same time.',
  facts: [
    {
      id: 'pipeline',
      quantity: 'pipeline, n = 128 / 256 / 512, ms',
      paper: '68.7 / 68.9 / 69.2',
      origin: 'model',
    },
    { id: 'sequential', quantity: 'sequential, the same, s', paper: '8.5 / 17.1 / 34.3', origin: 'model' },
    { id: 'flat', quantity: 'pipeline: n = 512 over n = 128', paper: 'almost the same time', origin: 'text' },
    { id: 'flat-128', quantity: 'pipeline: n = 128 over n = 8, 128 blocks', paper: '1.031', origin: 'model' },
    {
      id: 'error',
      quantity: 'prediction against measurement, n = 64',
      paper: 'not in the text',
      origin: 'text',
    },
    { id: 'formed', quantity: 'to form a group of 128', paper: 'not in the text', origin: 'text' },
  ],
  ways: [
    ...dilatedWays(ID),
    simulated({
      figure: ID,
      kind: 'predicted',
      how: 'The simulator with the preset sierra (32 Gbit/s of data), beyond the paper to 4,096 members; the facts have their windows.',
      minutes: 4,
      runs,
      outcome,
    }),
  ],
};
