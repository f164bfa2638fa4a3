import type { Fact, Figure, Way } from '../catalogue/figure.js';
import { reproduceCommand } from '../catalogue/figure.js';
import { escaped } from '../charts/text.js';
import type { FigureRecord } from '../record/record.js';
import { panelFigure } from './panel-figure.js';

/** One figure: what the paper shows, its numbers beside ours, and each record. */
export function figureSection(figure: Figure, records: readonly FigureRecord[]): string {
  const { id, label, title, shows, facts, ways, lacks } = figure;
  return [
    `<article id="${id}">`,
    `<h3>${escaped(label)}: ${escaped(title)}</h3>`,
    `<p>${escaped(shows)}</p>`,
    facts.length === 0 ? '' : factTable(facts, ways, records),
    ...ways.map((way) =>
      waySection(
        figure,
        way,
        records.find((record) => record.way === way.id),
      ),
    ),
    ways.length === 0 ? '<p class="absent">not recorded yet: there is not a command for it</p>' : '',
    lacks === undefined ? '' : `<p><strong>Missing here:</strong> ${escaped(lacks)}</p>`,
    '</article>',
  ]
    .filter((part) => part !== '')
    .join('\n');
}

/** The paper's numbers beside those of each record that has some. */
function factTable(facts: readonly Fact[], ways: readonly Way[], records: readonly FigureRecord[]): string {
  const columns = ways.flatMap((way) => {
    const record = records.find((each) => each.way === way.id);
    return record !== undefined && Object.keys(record.facts).length > 0 ? [{ way, record }] : [];
  });
  const head = [
    '<th scope="col">quantity</th>',
    '<th scope="col">paper</th>',
    ...columns.map(
      ({ way, record }) => `<th scope="col" class="${record.kind}">${way.id}, ${record.kind}</th>`,
    ),
  ];
  const rows = facts.map(({ id, quantity, paper, origin }) => {
    const source = origin === 'model' ? ' (model)' : '';
    const ours = columns.map(({ record }) => `<td>${escaped(record.facts[id] ?? '–')}</td>`);
    return `<tr><th scope="row">${escaped(quantity)}</th><td>${escaped(paper)}${source}</td>${ours.join('')}</tr>`;
  });
  return `<div class="scroll"><table class="facts"><thead><tr>${head.join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

function waySection(figure: Figure, way: Way, record: FigureRecord | undefined): string {
  const name = `<h4><span class="mark-kind ${way.kind}">${way.kind}</span>: ${way.id}</h4>`;
  const how = `<p>${escaped(way.how)}</p>`;
  const parts = record === undefined ? notRecorded(figure, way) : recorded(figure, record);
  return ['<section class="way">', name, how, ...parts, '</section>'].join('\n');
}

function notRecorded(figure: Figure, way: Way): string[] {
  const command = way.run === undefined ? way.command : reproduceCommand(figure.id);
  const root = way.needsRoot ? ', as root' : '';
  return [
    `<p class="absent">not recorded yet. Command${root}: <code>${escaped(command)}</code> (about ${way.minutes} minutes)</p>`,
  ];
}

function recorded(figure: Figure, record: FigureRecord): string[] {
  const { kind, date, machine, commit, command, load, page, missing, notes } = record;
  const origin = [
    `${kind} on ${date}`,
    machine,
    ...(load === undefined ? [] : [load]),
    `commit ${commit}`,
    ...(page === undefined ? [] : [`from docs/results/${page}`]),
  ];
  return [
    `<p><small>${origin.map(escaped).join('; ')}; <code>${escaped(command)}</code></small></p>`,
    ...missing.map((rival) => `<p class="absent">Without ${escaped(rival)}: it was not installed.</p>`),
    ...record.panels.map((panel, index) => panelFigure(panel, `${figure.id}-${record.way}-${index}`)),
    ...notes.map((note) => `<p><small>${escaped(note)}</small></p>`),
  ];
}
