import type { ThroughputTable } from '../../benchmark/hipower.js';
import { simulatedChannels } from '../../simulation/channels.js';
import type { Figure } from '../figure.js';
import { tablesWay, withTcp } from './common.js';

const outcomeOf = ([table]: ThroughputTable[]) => ({
  panels: [
    table!.panel('rate', {
      title: 'Messages per second from one process to another',
      description:
        'By the size of a message, over shared memory; both axes are logarithmic. Higher is better.',
      unit: 'messages per second',
      digits: 0,
    }),
  ],
  facts: {
    pull512: table!.ratio('rate', 'pull', 512),
    pull1k: table!.ratio('rate', 'pull', 1024),
    push512: table!.ratio('rate', 'push', 512),
    push1k: table!.ratio('rate', 'push', 1024),
  },
});

export const figure5a: Figure = {
  id: 'hipower-5a',
  paper: 'hipower',
  label: 'Figure 5a',
  title: 'One to one: throughput',
  shows:
    'Throughput by the size of a message from CPU memory: HiPower, confirmation of each request (Vanilla), TCP. HiPower is ahead ' +
    'below 4 KB.',
  facts: [
    {
      id: 'pull512',
      quantity: '512 B, pull (the mode of the paper) over Vanilla',
      paper: '1.75',
      origin: 'text',
    },
    { id: 'pull1k', quantity: '1 KB, the same', paper: '1.28', origin: 'text' },
    { id: 'push512', quantity: '512 B, push over Vanilla', paper: 'not in the paper', origin: 'text' },
    { id: 'push1k', quantity: '1 KB, the same', paper: 'not in the paper', origin: 'text' },
  ],
  ways: [
    simulatedChannels('hipower-5a', (channels) => ({
      panels: [channels.panel('one', 'rate', 'One to one')],
      facts: {
        pull512: channels.ratio('one', 'rate', 'pull', 512),
        pull1k: channels.ratio('one', 'rate', 'pull', 1024),
        push512: channels.ratio('one', 'rate', 'push', 512),
        push1k: channels.ratio('one', 'rate', 'push', 1024),
      },
    })),
    tablesWay(['one'], 3, 'Two processes of one host over shared memory, variants by turns.', outcomeOf),
    withTcp(
      'Two processes of one host: variants by turns over shared memory, and plain TCP of Node.js in a run of its own.',
      outcomeOf,
    ),
  ],
};
