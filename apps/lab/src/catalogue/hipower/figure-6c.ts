import type { Figure } from '../figure.js';

export const figure6c: Figure = {
  id: 'hipower-6c',
  paper: 'hipower',
  label: 'Figure 6c',
  title: 'Gather and broadcast: latency',
  shows:
    'Latency of each stream with one master and four workers. Gather is slower than broadcast; above 4 KB a stream takes about ' +
    'four times the time of one to one. HiPower is lower below 4 KB and never higher.',
  facts: [{ id: 'ratio', quantity: 'above 4 KB, over one to one', paper: 'about 4', origin: 'text' }],
  ways: [],
  lacks: 'The benchmark measures latency one to one only.',
};
