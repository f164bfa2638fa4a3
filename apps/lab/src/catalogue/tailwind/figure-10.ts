import { offeredWay } from '../../benchmark/offered.js';
import { threadsWay } from '../../benchmark/threads.js';
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
      quantity: 'processors at 450,000 writes/s (workers)',
      paper: '5.7 instead of 17.6 cores',
      origin: 'text',
    },
    {
      id: 'servers',
      quantity: 'CPU of all servers for a write: one-sided / messages, µs',
      paper: 'not in the text',
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
    offeredWay(
      'clients',
      'SETs that are due at scheduled times: processors of one kv server and of its three backups, beside Redis.',
      (loads) => loads.coresOutcome(),
    ),
    threadsWay(
      'servers',
      'Four kv servers with three backups of every write, 30 clients: processor time of each kind of thread.',
      (threads) => threads.cpuOutcome(),
    ),
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
};
