import { threadsWay } from '../../benchmark/threads.js';
import type { Figure } from '../figure.js';

export const figure11: Figure = {
  id: 'tailwind-11',
  paper: 'tailwind',
  label: 'Figure 11',
  title: 'Time that workers wait for replication',
  shows: 'Utilisation of the workers by workload, and the share of it in which they wait for backups.',
  facts: [
    { id: 'wait', quantity: 'YCSB B, share spent waiting', paper: '49% instead of 62%', origin: 'text' },
  ],
  ways: [
    threadsWay(
      'measured',
      'Four kv servers with three backups of every write, 30 clients; the servers count the time that writes wait.',
      (threads) => threads.waitOutcome(),
    ),
  ],
};
