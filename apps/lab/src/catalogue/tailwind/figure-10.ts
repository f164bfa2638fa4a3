import type { Figure } from '../figure.js';
import { appendsWay } from './appends.js';

export const figure10: Figure = {
  id: 'tailwind-10',
  paper: 'tailwind',
  label: 'Figure 10',
  title: 'Processors that replication takes',
  shows:
    'Worker and dispatch cores of the cluster by writes per second. Backups need almost none with Tailwind.',
  facts: [
    {
      id: 'cores',
      quantity: 'workers at 450,000 writes/s',
      paper: '5.7 instead of 17.6 cores',
      origin: 'text',
    },
    {
      id: 'backups',
      quantity: 'CPU of all backups for an append: one-sided / messages, µs',
      paper: 'not in the text',
      origin: 'text',
    },
  ],
  ways: [
    appendsWay('Processor time of the backups for each append of a log with three replicas.', (appends) => {
      const loads = appends.loads('under way');
      const at = (scheme: string) => appends.value('backups', loads[0]!, scheme);
      return {
        panels: [
          appends.panel('backups', loads, {
            title: 'Processor time of all backups for each append',
            description:
              'Microseconds, by the number of outstanding appends; closing and flushing included. Lower is better.',
            y: { label: 'microseconds per append', scale: 'log10', digits: 2 },
          }),
        ],
        facts: { backups: `${at('one-sided')} / ${at('rpc')} (one under way)` },
      };
    }),
  ],
  lacks:
    'Cores of servers of kv by writes per second: a server has one thread, so there are not workers and a dispatcher.',
};
