import { visibleWidth } from './palette.js';

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

function pad(text: string, width: number, align: 'left' | 'right'): string {
  const space = ' '.repeat(Math.max(0, width - visibleWidth(text)));
  return align === 'right' ? space + text : text + space;
}

/** Formats a table: a title row and one line per row, two spaces between columns. */
export function textTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  styleTitle: (text: string) => string = (text) => text,
): string[] {
  const widths = columns.map(({ title }, i) =>
    Math.max(visibleWidth(title), ...rows.map((row) => visibleWidth(row[i] ?? ''))),
  );
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ align = 'left' }, i) => pad(cells[i] ?? '', widths[i]!, align))
      .join('  ')
      .trimEnd();
  return [styleTitle(line(columns.map(({ title }) => title))), ...rows.map(line)];
}
