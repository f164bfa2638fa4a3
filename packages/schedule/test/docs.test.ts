import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
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

const importsOf = (text: string): string[] => {
  return [...text.matchAll(/(?:from|import)\s*\(?['"]([^'"]+)['"]/g)].map((match) => match[1]!);
};

describe('the source', () => {
  it('imports only its own files and two entry points of @rdmc/common', () => {
    const files = readdirSync(new URL('src/', home));
    expect(files.length).toBeGreaterThan(10);
    for (const file of files) {
      const sources = importsOf(readFileSync(new URL(`src/${file}`, home), 'utf8'));
      for (const source of sources)
        expect(source, file).toMatch(/^(\.\/[a-z-]+\.js|@rdmc\/common\/(errors|checks))$/);
    }
  });

  it.each(['errors', 'checks'])('does not need Node.js through @rdmc/common/%s, either', (entry) => {
    const waiting = [pathToFileURL(createRequire(import.meta.url).resolve(`@rdmc/common/${entry}`))];
    let all = '';
    for (const file of waiting) {
      const text = readFileSync(file, 'utf8');
      all += text;
      expect(text).not.toMatch(/\b(process|Buffer|require)\b[.(]/);
      for (const source of importsOf(text)) {
        expect(source, file.pathname).toMatch(/^\.\/[\w-]+\.js$/);
        waiting.push(new URL(source, file));
      }
    }
    expect(all).toContain('RdmcError');
  });
});
