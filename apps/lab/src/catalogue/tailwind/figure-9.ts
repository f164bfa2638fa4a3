import type { Figure } from '../figure.js';

export const figure9: Figure = {
  id: 'tailwind-9',
  paper: 'tailwind',
  label: 'Figure 9',
  title: 'Throughput of each active primary',
  shows: 'YCSB B with one to four active primaries of four servers.',
  facts: [
    { id: 'one', quantity: 'one primary: gain over messages', paper: '3%', origin: 'text' },
    { id: 'four', quantity: 'four primaries', paper: '27%', origin: 'text' },
  ],
  ways: [
    {
      id: 'measured',
      kind: 'measured',
      how: 'kv bench with keys of one server only, and with all keys.',
      command: 'node apps/kv/dist/main.js bench -w b --one-primary --mode MODE --json',
      minutes: 2,
      rivals: ['replication by messages'],
    },
  ],
  lacks: 'Two and three primaries: `kv bench` has one or all.',
};
