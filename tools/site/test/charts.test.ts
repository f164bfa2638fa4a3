import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chart, shown } from '@rdmc/lab';
import { describe, expect, it } from 'vitest';
import { PAGES } from '../src/build/pages.js';
import { figure } from '../src/charts/figure.js';
import { results } from '../src/charts/result.js';
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
