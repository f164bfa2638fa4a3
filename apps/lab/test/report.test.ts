import { describe, expect, it } from 'vitest';
import { catalogue, figureOf } from '../src/catalogue/catalogue.js';
import { recordsFolder } from '../src/record/folder.js';
import { readRecords } from '../src/record/read.js';
import { reportPage } from '../src/report/page.js';
import { panelFigure } from '../src/report/panel-figure.js';
import { RECORD } from './support/record.js';

/** The part of the page about one figure. */
function articleOf(page: string, id: string): string {
  const start = page.indexOf(`<article id="${id}">`);
  expect(start).toBeGreaterThan(0);
  return page.slice(start, page.indexOf('</article>', start));
}

describe('the report', () => {
  it('has every figure, and says honestly that it is not recorded, with the command', () => {
    const page = reportPage([]);
    for (const { id, ways, lacks } of catalogue) {
      const article = articleOf(page, id);
      expect(article.match(/not recorded yet/g) ?? [], id).toHaveLength(ways.length);
      for (const way of ways) {
        if (way.run) expect(article).toContain(`npm run reproduce -- --figure ${id} --way ${way.id}<`);
      }
      if (ways.length === 0) expect(lacks, id).toBeDefined();
    }
  });

  it('warns of a record that was measured beside other work', () => {
    const measured = { ...RECORD, way: 'netlab', kind: 'measured' } as const;
    const article = (load: string) => articleOf(reportPage([{ ...measured, load }]), 'rdmc-8');
    expect(article('load average 20.5 before, 30.1 after')).toContain(
      'Measured beside other work (load average 20.5',
    );
    expect(article('load average 20.5 before, 30.1 after')).toContain('measured, busy machine');
    // The second one is that of many processes of its own.
    expect(article('load average 0.5 before, 30.1 after')).not.toContain('other work (load');
    expect(article('beside much other work')).toContain('other work (beside much');
    const after = 'load average 25.0 before, 25.0 after';
    expect(article(`processors 2% busy before, ${after}`)).not.toContain('other work (');
    expect(article('alone on the machine; load average 26 before, 179 after')).not.toContain('other work (');
    expect(article(`processors 90% busy before, ${after}`)).toContain('other work (');
  });

  it('says that numbers are of an earlier run, and that its command has changed', () => {
    const article = articleOf(reportPage([{ ...RECORD, page: 'network.md' }]), 'rdmc-8');
    expect(article).toContain('Numbers of an earlier run, taken from docs/results/network.md.');
    expect(
      articleOf(reportPage([{ ...RECORD, page: 'network.md', command: 'node old.mjs' }]), 'rdmc-8'),
    ).toContain('The command of this way has changed since.');
    expect(article).not.toContain('has changed since');
  });

  it('marks a record with its kind, machine, day, commit, command and missing rivals', () => {
    const article = articleOf(reportPage([RECORD]), 'rdmc-8');
    expect(article).toContain('<span class="mark-kind predicted">predicted</span>: simulator (simulated)');
    expect(article).toContain('predicted on 2026-11-23; a machine, 2 cores; commit 0123abcd+');
    expect(article).toContain('<code>npm run reproduce -- --figure rdmc-8 --way simulated</code>');
    expect(article).toContain('Without Open MPI: it was not installed.');
    // The other ways of the figure.
    const others = figureOf('rdmc-8').ways.length - 1;
    expect(article.match(/not recorded yet/g)).toHaveLength(others);
  });

  it('has the paper’s number beside ours', () => {
    expect(articleOf(reportPage([RECORD]), 'rdmc-8')).toContain('<td>almost the same time</td><td>1.01</td>');
  });

  it('escapes what records say', () => {
    expect(reportPage([RECORD])).toContain('a note with &lt;b>'.replace('>', '&gt;'));
  });

  it('is the same page for the same records', () => {
    expect(reportPage([RECORD])).toBe(reportPage([RECORD]));
  });

  it('is whole from the records of the repository: a chart or a table for each panel, ids once, nothing undefined', () => {
    const records = readRecords(recordsFolder);
    const page = reportPage(records);
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map((match) => match[1]!);
    expect(new Set(ids).size).toBe(ids.length);
    expect(page.match(/<figure /g) ?? []).toHaveLength(records.flatMap(({ panels }) => panels).length);
    expect(page).not.toMatch(/NaN|undefined|Infinity/);
  });
});

describe('a panel', () => {
  const panel = RECORD.panels[0]!;

  it('is a picture with a title, a description and its numbers as a table', () => {
    expect(panelFigure(panel, 'x')).toMatchInlineSnapshot(
      `"<figure class="result"><svg class="chart" viewBox="0 0 760 380" role="img" aria-labelledby="x-t x-d"><title id="x-t">T &amp; U</title><desc id="x-d">D.</desc><path class="grid" d="M92 316H530"/><text class="tick" x="84" y="320" text-anchor="end">0</text><path class="grid" d="M92 216H530"/><text class="tick" x="84" y="220" text-anchor="end">0.5</text><path class="grid" d="M92 116H530"/><text class="tick" x="84" y="120" text-anchor="end">1</text><path class="grid" d="M92 16H530"/><text class="tick" x="84" y="20" text-anchor="end">1.5</text><text class="tick" x="165" y="336" text-anchor="middle">a, b</text><text class="tick" x="311" y="336" text-anchor="middle">c]</text><text class="tick" x="457" y="336" text-anchor="middle">&quot;d&quot;</text><text class="axis" x="311" y="362" text-anchor="middle">x</text><text class="axis" transform="translate(18 166) rotate(-90)" text-anchor="middle">y</text><g class="series s0"><path class="line own" d="M165 16L457 316"/><circle class="mark" cx="165" cy="16" r="5"/><circle class="mark" cx="457" cy="316" r="5"/></g><g class="series s0"><circle class="mark" cx="548" cy="316" r="5"/></g><text class="name" x="560" y="320">s</text></svg><figcaption><strong>T &amp; U.</strong> D.</figcaption><details><summary>The numbers: y</summary><div class="scroll"><table><thead><tr><th scope="col">x</th><th scope="col">s</th></tr></thead><tbody><tr><th scope="row">a, b</th><td>1.5</td></tr><tr><th scope="row">c]</th><td>–</td></tr><tr><th scope="row">&quot;d&quot;</th><td>0.0</td></tr></tbody></table></div></details></figure>"`,
    );
  });

  it('is a table only, if it says so', () => {
    const html = panelFigure({ ...panel, kind: 'table' }, 'x');
    expect(html).not.toContain('<svg');
    expect(html).toContain('<td>1.5</td>');
    expect(html).toContain('<td>–</td>');
  });

  it('can have bars, of which some are missing', () => {
    const html = panelFigure({ ...panel, kind: 'bars' }, 'x');
    expect(html.match(/<rect /g)).toHaveLength(2);
  });
});
