import { concurrentOnNetlab } from '../../benchmark/concurrent.js';
import { simulated } from '../../simulation/sweep.js';
import { several } from '../../simulation/values.js';
import type { Figure } from '../figure.js';
import { aggregate, concurrentPanels, concurrentRuns } from './concurrent.js';

const ID = 'rdmc-10a';

export const figure10a: Figure = {
  id: ID,
  paper: 'rdmc',
  label: 'Figure 10a',
  title: 'Concurrent multicasts on a full network',
  shows:
    'Aggregate bandwidth of groups with the same members and different senders on Fractus: all, half, or one of the members ' +
    'send messages of 100 MB, 1 MB or 10 KB.',
  facts: [
    { id: 'peak', quantity: 'peak, 100 MB', paper: 'quite close to 100 Gbit/s', origin: 'text' },
    {
      id: 'all',
      quantity: 'all send, 100 MB, n = 3 / 4 / 8 / 16: bound β·n/(n − 1), Gbit/s',
      paper: '150 / 133 / 114 / 107',
      origin: 'model',
    },
    { id: 'one', quantity: 'one sends, 100 MB, n = 16, Gbit/s', paper: 'at most 100', origin: 'model' },
  ],
  ways: [
    concurrentOnNetlab(false),
    simulated({
      figure: ID,
      kind: 'predicted',
      how: 'The simulator with the preset fractus and shipped windows.',
      minutes: 5,
      runs: () => concurrentRuns('fractus'),
      outcome: (reports) => {
        const all = [3, 4, 8, 16].map((nodes) =>
          aggregate(reports, { size: '100 MB', senders: 'all send', nodes }),
        );
        const one = aggregate(reports, { size: '100 MB', senders: 'one sends', nodes: 16 });
        return {
          ...concurrentPanels('Fractus', reports),
          facts: { peak: `${Math.max(...all).toFixed(1)} Gbit/s`, all: several(all, 1), one: one.toFixed(1) },
        };
      },
    }),
    {
      id: 'recorded',
      name: 'network namespaces, 400 Mbit/s',
      kind: 'measured',
      how: 'Real processes in network namespaces with links of 400 Mbit/s, 16 MiB.',
      command: 'node tools/bench/network/run.mjs concurrent',
      minutes: 10,
      rivals: [],
      needsRoot: true,
    },
  ],
};
