import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PAGES } from '../src/build/pages.js';
import { chart } from '../src/charts/chart.js';
import { figure } from '../src/charts/figure.js';
import { results, shown } from '../src/charts/result.js';
import { linearScale, logScale } from '../src/charts/scale.js';
import { root } from '../src/root.js';

const all = [...results()];

describe.each(all)('docs/results/%s', (name, result) => {
  const page = join(root, 'docs/results', result.page);

  it('says how it was measured', () => {
    expect(existsSync(page)).toBe(true);
    expect(result.date).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(result.commit).toMatch(/^[0-9a-f]{7,40}$/);
    for (const text of [result.title, result.description, result.machine, result.command])
      expect(text).not.toBe('');
  });

  it('has a number for each value, and its page has the same numbers', () => {
    const text = readFileSync(page, 'utf8').replaceAll(',', '');
    for (const { name: series, values } of result.series) {
      expect(values, series).toHaveLength(result.x.values.length);
      for (const value of values) expect(text, series).toContain(shown(value, result).replaceAll(',', ''));
    }
  });

  it('is drawn on its page', () => {
    const [shownOn] = PAGES.filter(({ charts = [] }) => charts.includes(name));
    expect(shownOn?.file).toBe(`docs/results/${result.page}`);
  });

  it('is a picture with a title, a description and a table', () => {
    const html = figure(result, 'x');
    expect(html).toContain(`<title id="x-t">${result.title}</title>`);
    expect(html).toContain('aria-labelledby="x-t x-d"');
    expect(html.match(/<td>/g)).toHaveLength(result.series.length * result.x.values.length);
    expect(html).not.toContain('\n');
    expect(chart(result, 'x')).not.toContain('NaN');
  });
});

it('a linear scale begins at 0 and ends above the largest value', () => {
  const { ticks, at } = linearScale(9.828, 300, 0);
  expect(ticks).toEqual([0, 2, 4, 6, 8, 10]);
  expect([at(0), at(5), at(10)]).toEqual([300, 150, 0]);
});

it('a logarithmic scale has powers of 10', () => {
  const { ticks, at } = logScale(4575, 1_309_187, 400, 0);
  expect(ticks).toEqual([1e3, 1e4, 1e5, 1e6, 1e7]);
  expect(at(1e4)).toBe(300);
});
