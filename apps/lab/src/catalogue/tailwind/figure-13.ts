import type { Figure } from '../figure.js';

export const figure13: Figure = {
  id: 'tailwind-13',
  paper: 'tailwind',
  label: 'Figure 13',
  title: 'Recovery',
  shows: 'Time to recover 1 and 10 million objects of a server with 10 backups.',
  facts: [
    { id: 'million', quantity: '1 million: one-sided / messages', paper: '0.5 / 0.48 s', origin: 'text' },
    { id: 'ten', quantity: '10 million', paper: '2.5 s both', origin: 'text' },
  ],
  ways: [
    {
      id: 'measured',
      kind: 'measured',
      how: 'A log of 1 million objects with three backups, recovered by one process: from the request to an index.',
      command: 'node packages/tailwind/bench/recovery.mjs',
      minutes: 3,
      rivals: ['replication by messages'],
    },
  ],
  lacks: 'Ten backups and 10 million objects: the benchmark has three backups.',
};
