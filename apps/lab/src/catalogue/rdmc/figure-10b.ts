import { concurrentOnNetlab } from '../../benchmark/concurrent.js';
import type { Outcome } from '../../record/record.js';
import { type Reports, simulated } from '../../simulation/sweep.js';
import type { Figure } from '../figure.js';
import { aggregate, concurrentPanels, concurrentRuns, rates } from './concurrent.js';

const ID = 'rdmc-10b';
/** One placement may let a schedule cross the racks much less than the others do. */
const PLACEMENTS = 20;

/** The median of all placements, with the least and the largest rate. */
function spread(reports: Reports, senders: string, nodes: number): string {
  const point = { size: '100 MB', senders, nodes };
  const all = rates(reports, point, PLACEMENTS);
  const [least, most] = [Math.min(...all), Math.max(...all)].map((rate) => rate.toFixed(1));
  return `${aggregate(reports, point, PLACEMENTS).toFixed(1)} Gbit/s (${least} to ${most})`;
}

/** Exported for tests. */
export function placedOutcome(reports: Reports): Outcome {
  const { notes, ...panels } = concurrentPanels('Apt', reports, PLACEMENTS);
  const about =
    `Medians of ${PLACEMENTS} random placements of the members in racks; in brackets the least and the largest rate. Single placements ` +
    `differ: 100 MB, all of 8 send: ${spread(reports, 'all send', 8)}.`;
  return {
    ...panels,
    notes: [about, ...notes],
    facts: { all: spread(reports, 'all send', 16), one: spread(reports, 'one sends', 16) },
  };
}

export const figure10b: Figure = {
  id: ID,
  paper: 'rdmc',
  label: 'Figure 10b',
  title: 'Concurrent multicasts behind an oversubscribed switch',
  shows:
    'The same on Apt, whose links of 56 Gbit/s degrade to about 16 Gbit/s across racks. Larger groups approach that.',
  facts: [
    { id: 'all', quantity: 'all send, 100 MB, n = 16', paper: 'approaches 16 Gbit/s', origin: 'text' },
    { id: 'one', quantity: 'one sends, 100 MB, n = 16', paper: 'approaches 16 Gbit/s', origin: 'text' },
  ],
  ways: [
    concurrentOnNetlab(true),
    simulated({
      figure: ID,
      kind: 'predicted',
      how:
        'The simulator with the preset apt and shipped windows: racks of 8 with uplinks of 16 Gbit/s for each member. ' +
        `Members are placed in racks at random, ${PLACEMENTS} times; the numbers are medians.`,
      minutes: 8,
      runs: () => concurrentRuns('apt', PLACEMENTS),
      outcome: placedOutcome,
    }),
  ],
};
