import { shown } from '../../benchmark/command.js';
import { numberIn, tableRows } from '../../benchmark/markdown-table.js';
import type { Outcome } from '../../record/record.js';
import type { Figure } from '../figure.js';

const ARGS = ['tools/bench/hipower/resnet.mjs', 'shm', '3'];
const PARTS = ['flow completion time', 'CPU of the server', 'CPU of both workers'];

/** The figure of the benchmark's table. Exported for tests. */
export function resnetOutcome(output: string): Pick<Outcome, 'panels' | 'facts'> {
  const rows = new Map(
    tableRows(output).map((row) => [row[0], row.slice(1, 1 + PARTS.length).map(numberIn)]),
  );
  const series = [
    { name: 'pull', values: rows.get('pull')!, own: true },
    { name: 'push', values: rows.get('push')!, own: true },
    { name: 'per work request', values: rows.get('baseline')! },
  ];
  const [pull, push, base] = series.map(({ values }) => values[0]!);
  const ratio = `pull ${(pull! / base!).toFixed(2)}, push ${(push! / base!).toFixed(2)}`;
  return {
    panels: [
      {
        title: 'One iteration of ResNet-152 with two workers, over shared memory',
        description: 'Milliseconds for 963 MB in both directions, sums included. Lower is better.',
        kind: 'bars',
        x: { label: 'what', values: PARTS },
        y: { label: 'milliseconds', scale: 'linear', digits: 0 },
        series,
      },
    ],
    facts: { ratio },
  };
}

export const resnet: Figure = {
  id: 'hipower-resnet',
  paper: 'hipower',
  label: 'ResNet-152',
  title: 'Flow completion time of ResNet-152',
  shows: 'The parameters of ResNet-152, 240 MB in 514 blocks, most below 4 KB and none above 8 MB.',
  facts: [{ id: 'ratio', quantity: 'HiPower over Vanilla', paper: '0.88 (64 over 73 ms)', origin: 'text' }],
  ways: [
    {
      id: 'measured',
      kind: 'measured',
      how: 'A training loop with two workers: blocks of at most 64 KiB, both directions, and the sums of the server.',
      command: shown(ARGS),
      minutes: 3,
      rivals: ['confirmation of each work request'],
      run: async (bench) => {
        const outcome = resnetOutcome(await bench.command(ARGS));
        const note = 'Nine tenths of the time are sums of the server, so that a protocol can gain little.';
        return { ...outcome, notes: [note], missing: [] };
      },
    },
  ],
  lacks:
    'What the paper measured: one flow in one direction (240 MB in 64 ms are 30 Gbit/s), whole tensors as blocks, without sums. ' +
    'The benchmark measures the training loop.',
};
