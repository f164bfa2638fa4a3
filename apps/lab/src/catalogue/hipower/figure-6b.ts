import type { ThroughputTable } from '../../benchmark/hipower.js';
import { simulatedChannels } from '../../simulation/channels.js';
import type { Figure } from '../figure.js';
import { FOUR_WORKERS, TWO_WORKERS, tablesWay } from './common.js';

const PEERS =
  'Microseconds for each message, over shared memory; both axes are logarithmic. Lower is better.';

/** The largest saving of any size. */
function saving(table: ThroughputTable, side: 'requester' | 'responder'): string {
  const ratios = table.sizes.map((size) => Number(table.ratio(side, 'pull', size)));
  return `up to −${(100 * (1 - Math.min(...ratios))).toFixed(0)}%`;
}

const outcomeOf = ([gather, broadcast]: ThroughputTable[]) => ({
  panels: [
    gather!.panel('responder', {
      title: 'Gather: processor time of the master',
      description: PEERS,
      unit: 'microseconds per message',
      digits: 2,
    }),
    broadcast!.panel('requester', {
      title: 'Broadcast: processor time of the master',
      description: PEERS,
      unit: 'microseconds per message',
      digits: 2,
    }),
  ],
  facts: { gather: saving(gather!, 'responder'), broadcast: saving(broadcast!, 'requester') },
});

export const figure6b: Figure = {
  id: 'hipower-6b',
  paper: 'hipower',
  label: 'Figure 6b',
  title: 'Gather and broadcast: processor time of the master',
  shows: 'CPU of the master, by the size of a message.',
  facts: [
    { id: 'gather', quantity: 'gather, master', paper: 'up to −79%', origin: 'text' },
    { id: 'broadcast', quantity: 'broadcast, master', paper: '−20%', origin: 'text' },
  ],
  ways: [
    simulatedChannels('hipower-6b', (channels) => ({
      panels: [
        channels.panel('gather', 'responder', 'Gather'),
        channels.panel('broadcast', 'requester', 'Broadcast'),
      ],
      facts: {
        gather: `−${(100 * (1 - Number(channels.ratio('gather', 'responder', 'pull', 512)))).toFixed(0)}% (512 B)`,
        broadcast: `−${(100 * (1 - Number(channels.ratio('broadcast', 'requester', 'pull', 512)))).toFixed(0)}% (512 B)`,
      },
    })),
    tablesWay(
      ['gather', 'broadcast'],
      4,
      'Processor time of whole processes, polling included; two workers.',
      outcomeOf,
      TWO_WORKERS,
    ),
    tablesWay(
      ['gather', 'broadcast'],
      5,
      'Five processes of one host: a master and four workers.',
      outcomeOf,
      FOUR_WORKERS,
    ),
  ],
};
