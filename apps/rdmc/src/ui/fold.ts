import { visibleWidth } from './palette.js';
import type { Terminal } from './terminal.js';

/** How much further the lines below the first one are indented. */
const HANGING = 2;

/**
 * Splits a line that is longer than the window, between words. Words stay whole, so that paths, addresses and commands can
 * be copied; a word that is longer than the window has a line of its own.
 */
export function fold(line: string, columns: number): string[] {
  if (visibleWidth(line) <= columns) return [line];
  const indent = /^ */.exec(line)![0];
  const hanging = ' '.repeat(indent.length + HANGING);
  const words = line.slice(indent.length).match(/ *[^ ]+/g) ?? [];
  const lines: string[] = [];
  let current = indent;
  let isEmpty = true;
  for (const word of words) {
    if (!isEmpty && visibleWidth(current + word) > columns) {
      lines.push(current);
      current = hanging;
      isEmpty = true;
    }
    current += isEmpty ? word.trimStart() : word;
    isEmpty = false;
  }
  return [...lines, current];
}

/** Lines as they fit the window. Where the output is not a terminal they stay whole, for programs that search them. */
export function folded(
  { interactive, columns }: Pick<Terminal, 'interactive' | 'columns'>,
  lines: readonly string[],
): string[] {
  return interactive ? lines.flatMap((line) => fold(line, columns)) : [...lines];
}
