import { StreamsTable } from '../../benchmark/hipower.js';
import { simulatedChannels } from '../../simulation/channels.js';
import type { Figure } from '../figure.js';
import { FOUR_WORKERS, hipowerWay } from './common.js';

const LARGE = 16_384;

export const figure6c: Figure = {
  id: 'hipower-6c',
  paper: 'hipower',
  label: 'Figure 6c',
  title: 'Gather and broadcast: latency',
  shows:
    'Latency of each stream with one master and four workers. Gather is slower than broadcast; above 4 KB a stream takes about ' +
    'four times the time of one to one. HiPower is lower below 4 KB and never higher.',
  facts: [
    { id: 'ratio', quantity: 'above 4 KB, gather over one to one', paper: 'about 4', origin: 'text' },
    { id: 'gather', quantity: '512 B, gather: pull / push over Vanilla', paper: 'lower', origin: 'text' },
    {
      id: 'broadcast',
      quantity: '512 B, broadcast: pull / push over Vanilla',
      paper: 'lower',
      origin: 'text',
    },
  ],
  ways: [
    simulatedChannels('hipower-6c', (channels) => ({
      panels: [
        channels.panel('gather', 'latency', 'Gather'),
        channels.panel('broadcast', 'latency', 'Broadcast'),
      ],
      facts: {
        ratio: `${(channels.value('gather', 'latency', 'pull', 16_384) / channels.value('one', 'latency', 'pull', 16_384)).toFixed(2)} (pull, 16 KiB)`,
        gather: (['pull', 'push'] as const)
          .map((id) => channels.ratio('gather', 'latency', id, 512))
          .join(' / '),
        broadcast: (['pull', 'push'] as const)
          .map((id) => channels.ratio('broadcast', 'latency', id, 512))
          .join(' / '),
      },
    })),
    hipowerWay(
      'streams',
      6,
      'Five processes of one host over shared memory: a master and four workers, at a low rate; one to one beside.',
      (output) => {
        const table = new StreamsTable(output);
        const over = (stream: string) =>
          (['pull', 'push'] as const)
            .map((variant) =>
              (table.p50(stream, variant, 512) / table.p50(stream, 'baseline', 512)).toFixed(2),
            )
            .join(' / ');
        const ratio = table.p50('gather', 'pull', LARGE) / table.p50('one', 'pull', LARGE);
        return {
          panels: [
            table.panel('gather', 'Gather from four workers: median latency'),
            table.panel('broadcast', 'Broadcast to four workers: median latency'),
            table.panel('one', 'One to one, at the same rate: median latency'),
            ...table.processorPanels('gather', 'responder', 'Gather: processor time of the master'),
            ...table.processorPanels('gather', 'requester', 'Gather: processor time of all workers'),
            ...table.processorPanels('broadcast', 'requester', 'Broadcast: processor time of the master'),
            ...table.processorPanels('broadcast', 'responder', 'Broadcast: processor time of all workers'),
          ],
          facts: {
            ratio: `${ratio.toFixed(2)} (pull, 16 KiB)`,
            gather: over('gather'),
            broadcast: over('broadcast'),
          },
        };
      },
      { env: FOUR_WORKERS.env },
    ),
  ],
};
