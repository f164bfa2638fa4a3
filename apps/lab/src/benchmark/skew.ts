import type { Panel } from '../record/record.js';
import { line } from '../simulation/values.js';

/** A line of the panel: seconds from the first receiver to the last one, by number of members; null: not measured. */
interface SkewLine {
  readonly name: string;
  readonly skew: (n: number) => number | null;
  readonly own?: boolean;
}

/** Benchmarks print seconds, with three digits. */
const milliseconds = (seconds: number | null) => (seconds === null ? null : 1000 * seconds);

/**
 * How far apart the receivers have a message, by number of members; no panel where no line has a number, as in records of
 * benchmarks that did not print it.
 */
export function skewPanels(
  what: string,
  members: { readonly label: string; readonly values: readonly number[]; readonly scale?: 'log2' },
  lines: readonly SkewLine[],
): Panel[] {
  const all = lines.map(({ name, skew, own }) => ({
    ...line(name, members.values, 0, (n) => milliseconds(skew(n))),
    ...(own && { own }),
  }));
  const series = all.filter(({ values }) => values.some((value) => value !== null));
  if (series.length === 0) return [];
  return [
    {
      title: `${what}: first to last receiver`,
      description:
        'Milliseconds from the first receiver that has all of it to the last one; medians. Lower is better.',
      kind: 'lines',
      x: { ...members, values: [...members.values] },
      y: { label: 'milliseconds', scale: 'linear', digits: 0 },
      series,
    },
  ];
}
