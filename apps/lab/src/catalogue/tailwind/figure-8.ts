import type { Appends } from '../../benchmark/appends.js';
import { offeredWay } from '../../benchmark/offered.js';
import type { Outcome } from '../../record/record.js';
import type { Figure } from '../figure.js';
import { appendsWay } from './appends.js';

const OFFERED = '20000 per second';

function outcome(appends: Appends): Pick<Outcome, 'panels' | 'facts'> {
  const loads = appends.loads('per second');
  const ratio = (what: 'p50' | 'p99') =>
    (appends.value(what, OFFERED, 'one-sided-here') / appends.value(what, OFFERED, 'rpc')).toFixed(2);
  return {
    panels: [
      appends.panel('p50', loads, {
        title: 'Median latency of an append, by offered load',
        description: 'Microseconds from the instant at which an append was due. Lower is better.',
        y: { label: 'microseconds', scale: 'log10', digits: 0 },
      }),
      appends.panel('p99', loads, {
        title: '99th percentile of an append, by offered load',
        description: 'Microseconds from the instant at which an append was due. Lower is better.',
        y: { label: 'microseconds', scale: 'log10', digits: 0 },
      }),
    ],
    facts: { median: ratio('p50'), tail: ratio('p99') },
  };
}

export const figure8: Figure = {
  id: 'tailwind-8',
  paper: 'tailwind',
  label: 'Figure 8',
  title: 'Latency of writes by load',
  shows: 'Median and 99th percentile of client PUTs by the offered load.',
  facts: [
    {
      id: 'median',
      quantity: 'median, light load: over messages',
      paper: '0.74 (11.8 over 16 µs)',
      origin: 'text',
    },
    { id: 'tail', quantity: '99th percentile, light load', paper: '0.52 (14 over 27 µs)', origin: 'text' },
    { id: 'heavy', quantity: '500,000 per second: median, 99th', paper: '0.50, 0.36', origin: 'text' },
    {
      id: 'redis',
      quantity: 'over Redis with WAIT 3: median, 99th',
      paper: 'not in the paper',
      origin: 'text',
    },
  ],
  ways: [
    offeredWay(
      'clients',
      'SETs that are due at scheduled times, as a client sees them: kv with three backups of each write, and Redis.',
      (loads) => loads.latencyOutcome(),
    ),
    appendsWay(
      'Appends of a log with three replicas at a fixed rate, as the appending thread sees them.',
      outcome,
    ),
  ],
};
