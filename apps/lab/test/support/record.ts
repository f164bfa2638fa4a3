import type { FigureRecord } from '../../src/record/record.js';

/** A record of a figure of the catalogue, with values that are hard to write. */
export const RECORD: FigureRecord = {
  version: 1,
  figure: 'rdmc-8',
  way: 'simulated',
  kind: 'predicted',
  machine: 'a machine, 2 cores',
  date: '2026-11-23',
  commit: '0123abcd+',
  command: 'npm run reproduce -- --figure rdmc-8 --way simulated',
  notes: ['a note with <b>'],
  missing: ['Open MPI'],
  panels: [
    {
      title: 'T & U',
      description: 'D.',
      kind: 'lines',
      x: { label: 'x', values: ['a, b', 'c]', '"d"'] },
      y: { label: 'y', scale: 'linear', digits: 1 },
      series: [{ name: 's', values: [1.5, null, 1e-7], own: true }],
    },
  ],
  facts: { flat: '1.01' },
};
