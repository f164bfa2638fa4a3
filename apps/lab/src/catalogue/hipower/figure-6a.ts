import type { ThroughputTable } from '../../benchmark/hipower.js';
import { simulatedChannels } from '../../simulation/channels.js';
import type { Figure } from '../figure.js';
import { FOUR_WORKERS, TWO_WORKERS, tablesWay } from './common.js';

const PEERS = 'Over shared memory; both axes are logarithmic. Higher is better.';

function range(table: ThroughputTable): string {
  const gains = table.sizes.map((size) => 100 * (Number(table.ratio('rate', 'pull', size)) - 1));
  const ends = [Math.min(...gains), Math.max(...gains)].map((gain) => gain.toFixed(0));
  return `${ends[0]} to ${ends[1]}%`;
}

const outcomeOf = ([gather, broadcast]: ThroughputTable[]) => ({
  panels: [
    gather!.panel('rate', {
      title: 'Gather: messages per second',
      description: PEERS,
      unit: 'messages per second',
      digits: 0,
    }),
    broadcast!.panel('rate', {
      title: 'Broadcast: messages per second',
      description: PEERS,
      unit: 'messages per second',
      digits: 0,
    }),
  ],
  facts: { gather: range(gather!), broadcast: range(broadcast!) },
});

export const figure6a: Figure = {
  id: 'hipower-6a',
  paper: 'hipower',
  label: 'Figure 6a',
  title: 'Gather and broadcast: throughput',
  shows: 'One master and four workers, CPU memory: gather into the master, broadcast from it.',
  facts: [
    { id: 'gather', quantity: 'gather, gain of pull', paper: '7.8 to 68%', origin: 'text' },
    { id: 'broadcast', quantity: 'broadcast, gain of pull', paper: '8.9 to 70%', origin: 'text' },
  ],
  ways: [
    simulatedChannels('hipower-6a', (channels) => ({
      panels: [channels.panel('gather', 'rate', 'Gather'), channels.panel('broadcast', 'rate', 'Broadcast')],
      facts: { gather: channels.gains('gather'), broadcast: channels.gains('broadcast') },
    })),
    tablesWay(
      ['gather', 'broadcast'],
      4,
      'Three processes of one host, two of them workers: four workers and a master would share two cores.',
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
