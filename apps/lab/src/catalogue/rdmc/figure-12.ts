import type { SimulateOptions } from '@rdmc/simulator';
import { relaysOnOneHost } from '../../benchmark/relays.js';
import type { Outcome } from '../../record/record.js';
import { type Reports, simulated } from '../../simulation/sweep.js';
import { line, MIB } from '../../simulation/values.js';
import type { Figure, Runs } from '../figure.js';

const ID = 'rdmc-12';
const MEMBERS = [3, 4, 5, 6, 7, 8, 10, 12, 14, 16];
const WAITS = [
  { name: 'polling and interrupts', windowMs: 50 },
  { name: 'interrupts only', windowMs: 0 },
] as const;
const WHO = [
  { name: 'by the NICs', offload: true },
  { name: 'by the threads', offload: false },
] as const;

const key = (wait: string, who: string, nodes: number) => `${wait}, ${who}, n=${nodes}`;

function runs(): Runs {
  const all = new Map<string, SimulateOptions>();
  for (const { name: wait, windowMs } of WAITS) {
    for (const { name: who, offload } of WHO) {
      for (const nodes of MEMBERS) {
        const chain = {
          cluster: 'fractus',
          nodes,
          algorithm: 'chain',
          byteLength: 1e8,
          blockBytes: MIB,
        } as const;
        all.set(key(wait, who, nodes), { ...chain, windows: 'paper', windowMs, offload });
      }
    }
  }
  return all;
}

function outcome(reports: Reports): Outcome {
  const ms = (wait: string, who: string, nodes: number) => reports.milliseconds(key(wait, who, nodes));
  const panels = WAITS.map(({ name: wait }) => ({
    title: `A chain, 100 MB on Fractus: ${wait}`,
    description:
      'Milliseconds until the last member has 100 MB, by who sends the blocks on. Lower is better.',
    kind: 'lines' as const,
    x: { label: 'members', values: MEMBERS },
    y: { label: 'milliseconds', scale: 'linear' as const, digits: 3 },
    series: WHO.map(({ name: who, offload }) => ({
      ...line(who, MEMBERS, 3, (n) => ms(wait, who, n)),
      own: offload,
    })),
  }));
  const gain = (wait: string) => {
    const all = MEMBERS.map((n) => 100 * (ms(wait, 'by the threads', n) / ms(wait, 'by the NICs', n) - 1));
    return `${Math.min(...all).toFixed(1)} to ${Math.max(...all).toFixed(1)}%`;
  };
  return {
    panels,
    facts: { hybrid: gain(WAITS[0].name), interrupts: gain(WAITS[1].name) },
    notes: [
      'A NIC takes 0.5 µs for a completion: an assumption. The gain is the time of the threads for each block and hop, which are ' +
        'assumptions too.',
    ],
    missing: [],
  };
}

export const figure12: Figure = {
  id: ID,
  paper: 'rdmc',
  label: 'Figure 12',
  title: 'The schedule executed by the device (CORE-Direct)',
  shows:
    'A chain of 100 MB on Fractus, sent on by threads or by the NICs themselves: with polling and interrupts, and with ' +
    'interrupts only.',
  facts: [
    { id: 'hybrid', quantity: 'speed-up, polling and interrupts', paper: 'about 5%', origin: 'text' },
    { id: 'interrupts', quantity: 'speed-up, interrupts only', paper: 'about 5%', origin: 'text' },
  ],
  ways: [
    relaysOnOneHost(),
    simulated({
      figure: ID,
      kind: 'calibrated',
      how: 'The simulator with the preset fractus and the windows of the paper.',
      minutes: 1,
      runs,
      outcome,
    }),
  ],
  lacks:
    'The one case of the paper in which threads are faster (one sender, n = 5 to 8, polling): the paper does not have its reason, and it ' +
    'is not simulated.',
};
