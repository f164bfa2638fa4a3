import type { Way } from '../catalogue/figure.js';
import type { Outcome } from '../record/record.js';
import { KIB, MIB, rounded } from '../simulation/values.js';
import { jsonOf, shown } from './command.js';

const ARGS = ['tools/bench/multicast/run.mjs', 'blocks'];
const ENV = { BENCH_MEMBERS: '4' };

/** A row that the benchmark prints: all block sizes of one message. */
interface Row {
  readonly n: number;
  readonly byteLength: number;
  readonly all: readonly { readonly block: number | 'auto'; readonly ms: number }[];
}

const sizeName = (bytes: number) => (bytes >= MIB ? `${bytes / MIB} MiB` : `${bytes / KIB} KiB`);

/** Facts of the figure, by the bytes of the message. */
const FACTS: ReadonlyMap<number, string> = new Map([
  [16 * KIB, 'best16k'],
  [MIB, 'best1m'],
  [128 * MIB, 'best128m'],
]);

/** The size of block with which a message took the least time. */
function best({ all }: Row): string {
  const fixed = all.flatMap(({ block, ms }) => (block === 'auto' ? [] : [{ block, ms }]));
  return sizeName(fixed.reduce((a, b) => (b.ms < a.ms ? b : a)).block);
}

/** The figure of the benchmark's rows. Exported for tests. */
export function blockSizesOutcome(rows: readonly Row[]): Outcome {
  const blocks = [...new Set(rows.flatMap(({ all }) => all.map(({ block }) => block)))]
    .filter((block) => block !== 'auto')
    .sort((a, b) => a - b);
  const rate = ({ byteLength, all }: Row, block: number) => {
    const ms = all.find((each) => each.block === block)?.ms;
    return ms === undefined ? null : rounded((byteLength * 8) / ms / 1e6, 2);
  };
  return {
    panels: [
      {
        title: 'Four processes of one host, over shared memory',
        description: 'Gbit/s of a message by the size of its blocks, medians. Higher is better.',
        kind: 'lines',
        x: { label: 'bytes of a block', scale: 'log2', values: blocks },
        y: { label: 'Gbit/s', scale: 'linear', digits: 2 },
        series: rows.map((row) => ({
          name: sizeName(row.byteLength),
          values: blocks.map((block) => rate(row, block)),
        })),
      },
    ],
    facts: Object.fromEntries(
      rows.flatMap((row) => {
        const id = FACTS.get(row.byteLength);
        return id === undefined ? [] : [[id, best(row)]];
      }),
    ),
    notes: [
      'Links are memory here, and the peak is not where the model of the paper has it. Best block of those that were measured: ' +
        `${rows.map((row) => `${best(row)} for ${sizeName(row.byteLength)}`).join(', ')}.`,
    ],
    missing: [],
  };
}

/** Real groups over shared memory. */
export function blockSizesOnOneHost(): Way {
  return {
    id: 'measured',
    name: 'one host',
    kind: 'measured',
    how: 'Processes of one host over shared memory, all block sizes by turns.',
    command: shown(ARGS, ENV),
    minutes: 6,
    rivals: [],
    run: async (bench) => {
      const output = await bench.command(ARGS, ENV);
      return blockSizesOutcome(jsonOf<{ result: Row[] }>(output, shown(ARGS, ENV)).result);
    },
  };
}
