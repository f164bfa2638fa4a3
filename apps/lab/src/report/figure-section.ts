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
      ({ way, record }) =>
        `<th scope="col" class="${record.kind}">${record.kind}${isBusy(record) ? ', busy machine' : ''}:<br>${escaped(way.name)}</th>`,
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
  const name = `<h4><span class="mark-kind ${way.kind}">${way.kind}</span>: ${escaped(way.name)} (${way.id})</h4>`;
  const how = `<p>${escaped(way.how)}</p>`;
  const parts = record === undefined ? notRecorded(figure, way) : recorded(figure, way, record);
  return ['<section class="way">', name, how, ...parts, '</section>'].join('\n');
}

function notRecorded(figure: Figure, way: Way): string[] {
  const command = way.run === undefined ? way.command : reproduceCommand(figure.id, way.id);
  const root = way.needsRoot ? ', as root' : '';
  return [
    `<p class="absent">not recorded yet. Command${root}: <code>${escaped(command)}</code> (about ${way.minutes} minutes)</p>`,
  ];
}

/** More than that share of the processors was busy before a run: other work was there. */
const MOST_BUSY_PERCENT = 20;
/** Records without that share: a load average above this before and after a run, whose own processes raise the second one. */
const MOST_LOAD = 20;

/** Whether other work was on the machine. */
function isBusy({ load }: FigureRecord): boolean {
  // A person who knows that writes it.
  if (load === undefined || load.startsWith('alone on the machine')) return false;
  const percent = /processors (\d+)% busy before/.exec(load)?.[1];
  if (percent !== undefined) return Number(percent) > MOST_BUSY_PERCENT;
  const averages = /load average ([\d.]+) before, ([\d.]+) after/.exec(load)?.slice(1);
  return averages === undefined || averages.every((each) => Number(each) > MOST_LOAD);
}

/** What a reader must know before the numbers. */
function warnings(way: Way, record: FigureRecord): string[] {
  const { load, page, missing } = record;
  return [
    ...(isBusy(record)
      ? [
          `Measured beside other work (${load}): times are longer than on an idle machine, and ratios may be wrong.`,
        ]
      : []),
    ...(page === undefined ? [] : [`Numbers of an earlier run, taken from docs/results/${page}.`]),
    ...(page === undefined || record.command === way.command
      ? []
      : ['The command of this way has changed since.']),
    ...missing.map((rival) => `Without ${rival}: it was not installed.`),
  ];
}

function recorded(figure: Figure, way: Way, record: FigureRecord): string[] {
  const { kind, date, machine, commit, command, load, notes } = record;
  const origin = [`${kind} on ${date}`, machine, ...(load === undefined ? [] : [load]), `commit ${commit}`];
  return [
    `<p><small>${origin.map(escaped).join('; ')}; <code>${escaped(command)}</code></small></p>`,
    ...warnings(way, record).map((text) => `<p class="absent">${escaped(text)}</p>`),
    ...record.panels.map((panel, index) => panelFigure(panel, `${figure.id}-${record.way}-${index}`)),
    ...notes.map((note) => `<p><small>${escaped(note)}</small></p>`),
  ];
}
