/** The rows of the tables that a benchmark prints as Markdown, without headings: cells as text. */
export function tableRows(output: string): string[][] {
  const lines = output.split('\n').filter((text) => text.startsWith('|'));
  const rows = lines.map((text) =>
    text
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  const isRule = (row: readonly string[]) => row.every((cell) => /^-+$/.test(cell));
  return rows.filter((row, index) => !isRule(row) && !(rows[index + 1] && isRule(rows[index + 1]!)));
}

/** The number at the begin of a cell: `294542 (1.00)`. */
export function numberIn(cell: string | undefined): number {
  const value = Number.parseFloat(cell ?? '');
  if (Number.isNaN(value)) throw new Error(`'${cell}' does not begin with a number`);
  return value;
}
