import type { Panel } from '../record/record.js';

export const KIB = 2 ** 10;
export const MIB = 2 ** 20;

/** A value as a record has it: with so many digits, not more. */
export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** A whole number in groups of three digits, as the tables of the papers have it. */
export function grouped(value: number): string {
  return Math.round(value).toLocaleString('en');
}

/** One line of a panel. */
export function line<X>(
  name: string,
  xs: readonly X[],
  digits: number,
  numberOf: (x: X) => number | null,
): Panel['series'][number] {
  const values = xs.map((x) => {
    const value = numberOf(x);
    return value === null ? null : rounded(value, digits);
  });
  return { name, values };
}

/** The middle one of some numbers; the mean of both where there are two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
}

/** Numbers separated by `/`, as the table of facts prints several values. */
export function several(values: readonly number[], digits: number): string {
  return values.map((value) => value.toFixed(digits)).join(' / ');
}
