import type { Chart } from './chart.js';
import { escaped } from './text.js';

/** What a table prints where a value does not exist. */
const NOTHING = '–';

/** A value with the digits of its chart, in groups of three if it is a whole number. */
export function shown(value: number | null, { y: { digits } }: Pick<Chart, 'y'>): string {
  if (value === null) return NOTHING;
  return value.toFixed(digits).replace(/\B(?=(\d{3})+$)/g, digits === 0 ? ',' : '');
}

/** The numbers of a chart as an HTML table: a row for each value of x. */
export function numberTable(drawn: Pick<Chart, 'x' | 'y' | 'series'>): string {
  const { x, series } = drawn;
  const head = series.map(({ name }) => `<th scope="col">${escaped(name)}</th>`).join('');
  const rows = x.values.map((value, index) => {
    const cells = series.map(({ values }) => `<td>${shown(values[index]!, drawn)}</td>`).join('');
    return `<tr><th scope="row">${escaped(`${value}`)}</th>${cells}</tr>`;
  });
  return `<table><thead><tr><th scope="col">${escaped(x.label)}</th>${head}</tr></thead><tbody>${rows.join('')}</tbody></table>`;
}
