import { latencyPanel, SizesTable } from '../../benchmark/hipower.js';
import { simulatedChannels } from '../../simulation/channels.js';
import type { Figure } from '../figure.js';
import { hipowerWay } from './common.js';

const BYTES = 512;

export const figure5b: Figure = {
  id: 'hipower-5b',
  paper: 'hipower',
  label: 'Figure 5b',
  title: 'One to one: latency',
  shows:
    'Latency by the size of a message, CPU memory. HiPower is lower below 4 KB and never higher than Vanilla; TCP is always higher.',
  facts: [
    { id: 'unloaded', quantity: '512 B, unloaded: pull / push over Vanilla', paper: 'lower', origin: 'text' },
    {
      id: 'loaded',
      quantity: '512 B, 0.9 of the load: pull / push over Vanilla',
      paper: 'lower',
      origin: 'text',
    },
    { id: 'tcp', quantity: '512 B, unloaded: plain TCP over Vanilla', paper: 'higher', origin: 'text' },
  ],
  ways: [
    simulatedChannels('hipower-5b', (channels) => ({
      panels: [channels.panel('one', 'latency', 'One to one')],
      facts: {
        unloaded: (['pull', 'push'] as const)
          .map((id) => channels.ratio('one', 'latency', id, 512))
          .join(' / '),
      },
    })),
    hipowerWay(
      'sizes',
      5,
      'Two processes of one host, 64 B to 64 KiB: variants over shared memory and plain TCP of Node.js, by turns.',
      (output) => {
        const table = new SizesTable(output);
        const ratio = (variant: 'pull' | 'push' | 'tcp') => table.ratio(variant, BYTES);
        return {
          panels: [
            table.panel('p50', 'Median latency by the size of a message'),
            table.panel('p99', '99th percentile of latency by the size of a message'),
          ],
          facts: { unloaded: `${ratio('pull')} / ${ratio('push')}`, tcp: ratio('tcp') },
        };
      },
      {
        id: 'sizes',
        name: 'two processes, by size',
        rivals: ['confirmation of each work request', 'plain TCP'],
      },
    ),
    hipowerWay(
      'latency',
      4,
      'Two processes of one host over shared memory, at shares of the rate of the baseline; messages of 512 bytes.',
      (output) => {
        const panel = latencyPanel(output, BYTES);
        const [pull, push, base] = panel.series.map(({ values }) => values as number[]);
        const ratios = (load: number) =>
          [pull!, push!].map((values) => (values.at(load)! / base!.at(load)!).toFixed(2)).join(' / ');
        return { panels: [panel], facts: { unloaded: ratios(0), loaded: ratios(-1) } };
      },
    ),
  ],
};
