import type { ThroughputTable } from '../../benchmark/hipower.js';
import { simulatedChannels } from '../../simulation/channels.js';
import type { Figure } from '../figure.js';
import { tablesWay, withTcp } from './common.js';

const outcomeOf = ([table]: ThroughputTable[]) => {
  const both = (side: 'requester' | 'responder') =>
    `${table!.ratio(side, 'pull', 512)} / ${table!.ratio(side, 'push', 512)}`;
  return {
    panels: (['requester', 'responder'] as const).map((side) =>
      table!.panel(side, {
        title: `Processor time of the ${side}`,
        description:
          'Microseconds for each message, over shared memory; both axes are logarithmic. Lower is better.',
        unit: 'microseconds per message',
        digits: 2,
      }),
    ),
    facts: { responder: both('responder'), requester: both('requester') },
  };
};

export const figure5c: Figure = {
  id: 'hipower-5c',
  paper: 'hipower',
  label: 'Figure 5c',
  title: 'One to one: processor time',
  shows:
    'CPU of requester and responder by the size of a message. HiPower needs less at both; large messages little at either.',
  facts: [
    {
      id: 'responder',
      quantity: 'responder, 512 B: pull / push over Vanilla',
      paper: 'lower; not in the text',
      origin: 'text',
    },
    {
      id: 'requester',
      quantity: 'requester, 512 B: pull / push over Vanilla',
      paper: 'lower; not in the text',
      origin: 'text',
    },
  ],
  ways: [
    simulatedChannels('hipower-5c', (channels) => ({
      panels: [
        channels.panel('one', 'requester', 'One to one'),
        channels.panel('one', 'responder', 'One to one'),
      ],
      facts: {},
    })),
    tablesWay(
      ['one'],
      3,
      'Processor time of whole processes, polling included, without the threads of the device.',
      outcomeOf,
    ),
    withTcp(
      'Processor time of whole processes, polling included, without the threads of the device; and of plain TCP of Node.js, kernel ' +
        'included, in a run of its own.',
      outcomeOf,
    ),
  ],
};
