import { gain, primariesPanel, primariesWay, type RateOf } from '../../benchmark/primaries.js';
import type { Outcome } from '../../record/record.js';
import type { Figure } from '../figure.js';

const ID = 'tailwind-9';
const PRIMARIES = [1, 2, 3, 4];

/** Exported for tests. */
export function primariesOutcome(rate: RateOf): Omit<Outcome, 'missing'> {
  return {
    panels: [
      primariesPanel(
        {
          title: 'YCSB B: operations per second of each active primary',
          description: 'Four servers, of which some have all keys; 30 clients. Higher is better.',
        },
        PRIMARIES,
        (mode, primaries) => rate(mode, primaries) / primaries,
      ),
    ],
    facts: { one: gain(rate, 1), four: gain(rate, 4) },
    notes: [],
  };
}

export const figure9: Figure = {
  id: ID,
  paper: 'tailwind',
  label: 'Figure 9',
  title: 'Throughput of each active primary',
  shows: 'YCSB B with one to four active primaries of four servers.',
  facts: [
    { id: 'one', quantity: 'one primary: one-sided over messages', paper: '1.03', origin: 'text' },
    { id: 'four', quantity: 'four primaries', paper: '1.27', origin: 'text' },
  ],
  ways: [
    primariesWay({
      figure: ID,
      workload: 'b',
      primaries: PRIMARIES,
      how: 'kv bench with the keys of one to four of four servers; every write has three backups.',
      outcome: primariesOutcome,
    }),
  ],
};
