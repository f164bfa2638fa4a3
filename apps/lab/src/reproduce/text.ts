import type { Fact, Figure, Way } from '../catalogue/figure.js';
import { shown } from '../charts/number-table.js';
import type { FigureRecord, Panel } from '../record/record.js';

/** A record for a terminal: where it is from, its facts beside the paper's, its numbers. */
export function recordLines(figure: Figure, record: FigureRecord): string[] {
  const { kind, date, machine, commit, command, load, missing, notes } = record;
  return [
    `${kind} on ${date}, commit ${commit}: ${machine}`,
    ...(load === undefined ? [] : [`load: ${load}`]),
    `command: ${command}`,
    ...missing.map((rival) => `without ${rival}: it is not installed`),
    ...factLines(figure.facts, record),
    ...record.panels.flatMap((panel) => ['', ...panelLines(panel)]),
    ...notes.map((note) => `note: ${note}`),
  ].map((line) => (line === '' ? line : `  ${line}`));
}

/** A way without a record. */
export function missingLines(way: Way): string[] {
  return ['  not recorded yet', `  command: ${way.command}`];
}

function factLines(facts: readonly Fact[], { facts: ours }: FigureRecord): string[] {
  return facts
    .filter(({ id }) => ours[id] !== undefined)
    .map(({ id, quantity, paper, origin }) => {
      const source = origin === 'model' ? 'its model' : 'the paper';
      return `${quantity}: ${ours[id]} here; ${source}: ${paper}`;
    });
}

/** The numbers of a panel as columns. */
function panelLines(panel: Panel): string[] {
  const { title, x, y, series } = panel;
  const rows = [
    [x.label, ...series.map(({ name }) => name)],
    ...x.values.map((value, index) => [
      `${value}`,
      ...series.map(({ values }) => shown(values[index]!, panel)),
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padStart(widths[column]!)).join('  '));
  return [`${title} (${y.label})`, ...lines];
}
