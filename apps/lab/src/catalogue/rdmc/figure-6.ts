import type { SimulateOptions } from '@rdmc/simulator';
import { blockSizesOnOneHost } from '../../benchmark/block-sizes.js';
import type { Outcome } from '../../record/record.js';
import { type Reports, simulated } from '../../simulation/sweep.js';
import { KIB, line, MIB } from '../../simulation/values.js';
import type { Figure, Runs } from '../figure.js';
import { COSTS_ARE_ASSUMED, WINDOWS } from './common.js';

const ID = 'rdmc-6';
const BLOCKS = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384].map((kib) => kib * KIB);
const MESSAGES = [
  ['16 KiB', 16 * KIB],
  ['256 KiB', 256 * KIB],
  ['1 MiB', MIB],
  ['8 MiB', 8 * MIB],
  ['128 MiB', 128 * MIB],
] as const;

const key = (name: string, windows: string, block: number) =>
  `${name}, ${windows}, blocks of ${block / KIB} KiB`;
/** A block larger than the message is the message. */
const fits = (byteLength: number, block: number) => block <= byteLength;

function runs(): Runs {
  const all = new Map<string, SimulateOptions>();
  for (const [name, byteLength] of MESSAGES) {
    for (const { id: windows } of WINDOWS) {
      for (const blockBytes of BLOCKS.filter((block) => fits(byteLength, block))) {
        all.set(key(name, windows, blockBytes), {
          cluster: 'fractus',
          nodes: 4,
          byteLength,
          blockBytes,
          windows,
        });
      }
    }
  }
  return all;
}

/** The block with the most bandwidth. */
function best(reports: Reports, name: string, byteLength: number): string {
  const rate = (block: number) => reports.of(key(name, 'paper', block)).gbitPerSecond;
  const block = BLOCKS.filter((each) => fits(byteLength, each)).reduce((a, b) => (rate(b) > rate(a) ? b : a));
  return block >= MIB ? `${block / MIB} MiB` : `${block / KIB} KiB`;
}

function outcome(reports: Reports): Outcome {
  const panels = WINDOWS.map(({ id, label, about }) => ({
    title: `Four members on Fractus, ${label}`,
    description: `Gbit/s of a message by the size of its blocks; ${about}. Higher is better.`,
    kind: 'lines' as const,
    x: { label: 'bytes of a block', scale: 'log2' as const, values: BLOCKS },
    y: { label: 'Gbit/s', scale: 'linear' as const, digits: 2 },
    series: MESSAGES.map(([name, byteLength]) =>
      line(name, BLOCKS, 2, (block) =>
        fits(byteLength, block) ? reports.of(key(name, id, block)).gbitPerSecond : null,
      ),
    ),
  }));
  const facts = {
    best16k: best(reports, '16 KiB', 16 * KIB),
    best1m: best(reports, '1 MiB', MIB),
    best128m: best(reports, '128 MiB', 128 * MIB),
  };
  return { panels, facts, notes: [COSTS_ARE_ASSUMED], missing: [] };
}

export const figure6: Figure = {
  id: ID,
  paper: 'rdmc',
  label: 'Figure 6',
  title: 'Bandwidth against the size of a block',
  shows:
    'Messages of 16 KB to 128 MB to a group of 4 on Fractus. Bandwidth rises with the block, has a peak, and falls when a ' +
    'message has too few blocks.',
  facts: [
    { id: 'best16k', quantity: 'best block of 16 KiB', paper: 'one block', origin: 'model' },
    { id: 'best1m', quantity: 'best block of 1 MiB', paper: '0.25 MB', origin: 'model' },
    { id: 'best128m', quantity: 'best block of 128 MiB', paper: '2.8 MB', origin: 'model' },
  ],
  ways: [
    simulated({
      figure: ID,
      kind: 'predicted',
      how:
        'The simulator with the preset fractus; the facts are of the windows of the paper. The model is √(Sαβ/(l − 1)) with ' +
        '5 µs for a block.',
      minutes: 2,
      runs,
      outcome,
    }),
    blockSizesOnOneHost(),
  ],
};
