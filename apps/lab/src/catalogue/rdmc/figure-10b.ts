import { concurrentOnNetlab } from '../../benchmark/concurrent.js';
import { simulated } from '../../simulation/sweep.js';
import type { Figure } from '../figure.js';
import { aggregate, concurrentPanels, concurrentRuns } from './concurrent.js';

const ID = 'rdmc-10b';

export const figure10b: Figure = {
  id: ID,
  paper: 'rdmc',
  label: 'Figure 10b',
  title: 'Concurrent multicasts behind an oversubscribed switch',
  shows:
    'The same on Apt, whose links of 56 Gbit/s degrade to about 16 Gbit/s across racks. Larger groups approach that.',
  facts: [
    { id: 'all', quantity: 'all send, 100 MB, n = 16', paper: 'approaches 16 Gbit/s', origin: 'text' },
    { id: 'one', quantity: 'one sends, 100 MB, n = 16', paper: 'approaches 16 Gbit/s', origin: 'text' },
  ],
  ways: [
    concurrentOnNetlab(true),
    simulated({
      figure: ID,
      kind: 'predicted',
      how:
        'The simulator with the preset apt and shipped windows: racks of 8 with uplinks of 16 Gbit/s for each member. ' +
        'Members are placed in racks at random.',
      minutes: 5,
      runs: () => concurrentRuns('apt'),
      outcome: (reports) => ({
        ...concurrentPanels('Apt', reports),
        facts: {
          all: `${aggregate(reports, '100 MB', 'all send', 16).toFixed(1)} Gbit/s`,
          one: `${aggregate(reports, '100 MB', 'one sends', 16).toFixed(1)} Gbit/s`,
        },
      }),
    }),
  ],
};
