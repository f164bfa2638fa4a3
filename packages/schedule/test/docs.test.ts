import { readdirSync, readFileSync } from 'node:fs';
import { expectExample } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { createSchedule } from '../src/index.js';

const home = new URL('../', import.meta.url);
const readme = readFileSync(new URL('README.md', home), 'utf8');

/** The grid of the README: one row per step, one column per rank. */
function grid(nodes: number, blocks: number): string {
  const schedule = createSchedule({ algorithm: 'binomial-pipeline', nodes, blocks });
  const rows = [[' '.repeat(6), ...Array.from({ length: nodes }, (_, rank) => `rank ${rank}`)]];
  for (let step = 0; step < schedule.steps; step += 1) {
    const cells = Array<string>(nodes).fill('·');
    for (const { from, to, block } of schedule.at(step)) cells[from] = `→${to} ${'ABCD'[block]}`;
    rows.push([`step ${step}`, ...cells]);
  }
  return rows.map((row) => row.join(' ').replace(/\s+/g, ' ').trim()).join('\n');
}

describe('README', () => {
  it('shows the example that is in example.mjs, and what it prints', () => expectExample(home));

  it.each([8, 6])('draws the pipeline of %i members as it is', (nodes) => {
    const squeezed = readme
      .split('\n')
      .map((line) => line.replace(/\s+/g, ' ').trim())
      .join('\n');
    expect(squeezed).toContain(grid(nodes, 4));
  });
});

describe('the source', () => {
  it('imports nothing but itself', () => {
    const files = readdirSync(new URL('src/', home));
    expect(files.length).toBeGreaterThan(10);
    for (const file of files) {
      const text = readFileSync(new URL(`src/${file}`, home), 'utf8');
      const sources = [...text.matchAll(/(?:from|import)\s*\(?'([^']+)'/g)].map((match) => match[1]!);
      for (const source of sources) expect(source, file).toMatch(/^\.\/[a-z-]+\.js$/);
    }
  });
});
