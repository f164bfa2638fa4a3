import { shown } from '../../benchmark/command.js';
import { numberIn, tableRows } from '../../benchmark/markdown-table.js';
import type { Outcome } from '../../record/record.js';
import type { Figure } from '../figure.js';
import { hipowerWay } from './common.js';

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

const FLOW_PARTS = ['completion, ms', 'CPU of the requester, ms', 'CPU of the responder, ms'];
const FLOW_COLUMNS = [1, 3, 4];

/** The figure of the benchmark's table of flows. Exported for tests. */
export function flowOutcome(output: string): Pick<Outcome, 'panels' | 'facts'> {
  const rows = new Map(
    tableRows(output).map((row) => [row[0], FLOW_COLUMNS.map((column) => numberIn(row[column]))]),
  );
  const series = [
    { name: 'pull', values: rows.get('pull')!, own: true },
    { name: 'push', values: rows.get('push')!, own: true },
    { name: 'per work request', values: rows.get('baseline')! },
  ];
  const [pull, push, base] = series.map(({ values }) => values[0]!);
  return {
    panels: [
      {
        title: 'ResNet-152 as one flow in one direction, over shared memory',
        description:
          'Milliseconds for 240.8 MB, from the first block until all are confirmed. Lower is better.',
        kind: 'bars',
        x: { label: 'what', values: FLOW_PARTS },
        y: { label: 'milliseconds', scale: 'linear', digits: 2 },
        series,
      },
    ],
    facts: { ratio: `pull ${(pull! / base!).toFixed(2)}, push ${(push! / base!).toFixed(2)}` },
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
    hipowerWay(
      'flow',
      1,
      'As in the paper: one flow in one direction, 240.8 MB as whole tensors (cut at 8 MiB: 470 blocks), without sums.',
      flowOutcome,
      { id: 'flow', name: 'one flow' },
    ),
    {
      id: 'measured',
      name: 'training loop',
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
};
