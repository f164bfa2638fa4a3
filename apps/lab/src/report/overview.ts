import { catalogue } from '../catalogue/catalogue.js';
import { type Figure, paperNames } from '../catalogue/figure.js';
import { escaped } from '../charts/text.js';
import { type FigureRecord, kinds } from '../record/record.js';

/** A row for each figure: which kinds of numbers there are. */
export function overview(records: readonly FigureRecord[]): string {
  const head = ['figure', ...kinds].map((name) => `<th scope="col">${name}</th>`).join('');
  const rows = catalogue.map((figure) => row(figure, records));
  const caption = '<caption>What is recorded, with the day of the last record</caption>';
  return `<div class="scroll"><table class="overview">${caption}<thead><tr>${head}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

function row(figure: Figure, records: readonly FigureRecord[]): string {
  const cells = kinds.map((kind) => {
    const dates = records
      .filter((record) => record.figure === figure.id && record.kind === kind)
      .map(({ date }) => date);
    const date = dates.sort().at(-1);
    if (date !== undefined) return `<td class="${kind}">${date}</td>`;
    if (figure.ways.length === 0) return '<td class="absent">not possible here</td>';
    const planned = figure.ways.some((way) => way.kind === kind);
    return `<td class="absent">${planned ? 'not recorded yet' : '–'}</td>`;
  });
  const name = `${paperNames[figure.paper]} ${figure.label}`;
  const link = `<a href="#${figure.id}">${escaped(name)}</a>: ${escaped(figure.title)}`;
  return `<tr><th scope="row">${link}</th>${cells.join('')}</tr>`;
}
