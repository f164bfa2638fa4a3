import type { Figure } from '../figure.js';

export const figure12: Figure = {
  id: 'tailwind-12',
  paper: 'tailwind',
  label: 'Figure 12',
  title: 'Throughput by worker cores',
  shows: 'Throughput of a server with 1 to 7 worker cores.',
  facts: [{ id: 'one', quantity: 'one worker', paper: '660 instead of 430 K/s', origin: 'text' }],
  ways: [],
  lacks:
    'A server of kv has one thread by design: several servers on a host take the place of workers. The machine has two cores for ' +
    'servers, backups and load, so a sweep would show the cores only.',
};
