import { shown } from '../../benchmark/command.js';
import { measureRates, ratesOutcome, WORKLOADS, ycsbArgs } from '../../benchmark/ycsb.js';
import { type Figure, reproduceCommand } from '../figure.js';
import { ON_ONE_HOST } from './common.js';

const ID = 'tailwind-7';

export const figure7: Figure = {
  id: ID,
  paper: 'tailwind',
  label: 'Figure 7',
  title: 'Throughput of a server by clients',
  shows:
    'Throughput for each of 4 servers by the number of clients, YCSB B, A and write-only: Tailwind and RAMCloud’s replication.',
  facts: [
    { id: 'b', quantity: 'YCSB B: one-sided over messages', paper: '1.27', origin: 'text' },
    { id: 'a', quantity: 'YCSB A', paper: '1.70', origin: 'text' },
    { id: 'w', quantity: 'write-only', paper: '1.65', origin: 'text' },
  ],
  ways: [
    {
      id: 'measured',
      name: 'kv on one host',
      kind: 'measured',
      how: `Five kv servers and the load on one host; ${WORKLOADS.length} workloads, 1 to 30 clients, both schemes by turns.`,
      command: reproduceCommand(ID, 'measured'),
      minutes: 5,
      rivals: ['replication by messages'],
      run: async (bench) => {
        const outcome = ratesOutcome(await measureRates(bench));
        return { ...outcome, notes: [ON_ONE_HOST, ...outcome.notes] };
      },
    },
    {
      id: 'recorded',
      name: 'kv on one host, 30 clients only',
      kind: 'measured',
      how: 'The same with 30 clients only, medians of three rounds.',
      command: `${shown(ycsbArgs('WORKLOAD', 'MODE', 30)).replace(/-t \d+/, '-t 8')}`,
      minutes: 3,
      rivals: ['replication by messages', 'no replication'],
    },
  ],
};
