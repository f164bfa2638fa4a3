import { catalogue } from '../catalogue/catalogue.js';
import { type Paper, papers } from '../catalogue/figure.js';
import { escaped } from '../charts/text.js';
import type { FigureRecord } from '../record/record.js';
import { figureSection } from './figure-section.js';
import { overview } from './overview.js';
import { chartStyle, reportStyle } from './style.js';

const TITLE = 'The figures of the three papers';
const INTRODUCTION = `
<p>Every figure and every table of results of the papers on RDMC, HiPower and Tailwind: what the paper shows, and our numbers
beside those of the paper and of other programs. The values of the papers' curves are not in their text: where the text does not
have a number, a formula of the paper is computed, and is marked as its <em>model</em>. The papers ran on RDMA cards of 40 to
100 Gbit/s and up to 512 machines; what is measured here ran on one machine with two cores, over shared memory, loopback, or
network namespaces with slow links. So compare how a number grows, and ratios between programs, not times.</p>
<ul>
<li><span class="mark-kind measured">measured</span>: real processes on the machine that is named. Under some records a line says what makes them
doubtful: other work on the machine, an older version, a program to compare with that was missing.</li>
<li><span class="mark-kind predicted">predicted</span>: the shipped state machines on simulated hardware, before anything was measured
there.</li>
<li><span class="mark-kind calibrated">calibrated</span>: simulated with costs that are fitted to the paper, or assumed. The shape says
something, the values do not.</li>
<li><span class="mark-kind absent">not recorded yet</span>: there are no numbers; the command that makes them is given.</li>
</ul>
<p><code>npm run reproduce -- --figure ID</code> runs one figure again, and <code>npm run report</code> makes this page.</p>`;

/** The whole report as one HTML page, from records alone. */
export function reportPage(records: readonly FigureRecord[]): string {
  const body = (Object.keys(papers) as Paper[]).map((paper) => paperSection(paper, records));
  return [
    '<!doctype html>',
    '<html lang="en" data-theme="os">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${TITLE}</title>`,
    `<style>\n${chartStyle()}${reportStyle()}</style>`,
    '</head>',
    '<body>',
    `<main>`,
    `<h1>${TITLE}</h1>`,
    INTRODUCTION,
    overview(records),
    ...body,
    '</main>',
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

function paperSection(paper: Paper, records: readonly FigureRecord[]): string {
  const figures = catalogue.filter((figure) => figure.paper === paper);
  const sections = figures.map((figure) =>
    figureSection(
      figure,
      records.filter((record) => record.figure === figure.id),
    ),
  );
  return [`<h2 id="${paper}">${escaped(papers[paper])}</h2>`, ...sections].join('\n');
}
