import type { Figure } from '../figure.js';
import { NEEDS_A_GPU } from './common.js';

type Shown = Pick<Figure, 'id' | 'label' | 'title' | 'shows' | 'facts'>;

function notHad(figure: Shown): Figure {
  return { ...figure, paper: 'hipower', ways: [], lacks: NEEDS_A_GPU };
}

/** The figures with GPU memory. */
export const gpuFigures: readonly Figure[] = [
  notHad({
    id: 'hipower-5d',
    label: 'Figure 5d',
    title: 'One to one, GPU memory: throughput',
    shows: 'Figure 5a with GPUDirect.',
    facts: [
      { id: 'half', quantity: '512 B, HiPower over Vanilla', paper: '1.11', origin: 'text' },
      { id: 'one', quantity: '1 KB, the same', paper: '1.43', origin: 'text' },
    ],
  }),
  notHad({
    id: 'hipower-5e',
    label: 'Figure 5e',
    title: 'One to one, GPU memory: latency',
    shows: 'Figure 5b with GPUDirect.',
    facts: [],
  }),
  notHad({
    id: 'hipower-5f',
    label: 'Figure 5f',
    title: 'One to one, GPU memory: processor time',
    shows: 'Figure 5c with GPUDirect.',
    facts: [],
  }),
  notHad({
    id: 'hipower-6d',
    label: 'Figure 6d',
    title: 'Gather and broadcast, GPU memory: throughput',
    shows: 'Figure 6a with GPUDirect.',
    facts: [
      { id: 'gather', quantity: 'gather, gain in throughput', paper: '5.2 to 72%', origin: 'text' },
      { id: 'broadcast', quantity: 'broadcast, gain in throughput', paper: '5.9 to 75%', origin: 'text' },
    ],
  }),
  notHad({
    id: 'hipower-6e',
    label: 'Figure 6e',
    title: 'Gather and broadcast, GPU memory: processor time',
    shows: 'Figure 6b with GPUDirect.',
    facts: [
      { id: 'gather', quantity: 'gather, server', paper: 'up to −79%', origin: 'text' },
      { id: 'broadcast', quantity: 'broadcast, server', paper: '−15%', origin: 'text' },
    ],
  }),
];
