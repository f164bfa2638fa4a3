import { gain, primariesPanel, primariesWay, type RateOf } from '../../benchmark/primaries.js';
import type { Outcome } from '../../record/record.js';
import type { Figure } from '../figure.js';

const ID = 'tailwind-12';
const SERVERS = [1, 2, 4];

/** Exported for tests. */
export function workersOutcome(rate: RateOf): Omit<Outcome, 'missing'> {
  const both = (servers: number) =>
    ['one-sided', 'rpc'].map((mode) => (rate(mode, servers) / 1000).toFixed(1)).join(' instead of ');
  return {
    panels: [
      primariesPanel(
        {
          title: 'Write-only: operations per second of all servers that have clients',
          description: 'Four servers, of which one, two or four have all keys; 30 clients. Higher is better.',
        },
        SERVERS,
        rate,
      ),
    ],
    facts: {
      one: `${both(1)} K/s (${gain(rate, 1)})`,
      more: SERVERS.map((servers) => `${gain(rate, servers)} (${servers})`).join(', '),
    },
    notes: [
      'A server of kv has one thread that serves clients, so servers stand for the paper’s worker cores. This host has two cores ' +
        'for the servers, their backups and the clients: four servers are more than the cores, and their point says what the cores can ' +
        'do, not what a fourth worker adds.',
    ],
  };
}

export const figure12: Figure = {
  id: ID,
  paper: 'tailwind',
  label: 'Figure 12',
  title: 'Throughput by worker cores',
  shows: 'Throughput of a server with 1 to 7 worker cores.',
  facts: [
    { id: 'one', quantity: 'one worker', paper: '660 instead of 430 K/s (1.53)', origin: 'text' },
    { id: 'more', quantity: 'one-sided over messages, by workers', paper: 'not in the text', origin: 'text' },
  ],
  ways: [
    primariesWay({
      figure: ID,
      workload: 'write-only',
      primaries: SERVERS,
      how: 'kv bench, write-only, with the keys of one, two or four of four servers, in place of workers; three backups of each write.',
      outcome: workersOutcome,
    }),
  ],
};
