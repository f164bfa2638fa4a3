import { CliError, codeOf, messageOf } from '../errors.js';
import { fold } from './fold.js';
import { createPalette, type Palette, wantsColour } from './palette.js';
import type { Terminal } from './terminal.js';

/** Below this, advice is indented less than `error `. */
const ADVICE_INDENT = 6;

/**
 * `error CODE: message`, and the advice. An error without a code is a defect, and has its stack.
 * @param columns of the window; undefined: lines stay whole
 */
export function errorLines(error: unknown, palette: Palette, columns: number | undefined): string[] {
  const code = codeOf(error);
  const text =
    code === undefined && error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
  // Errors of the system have their code in the message, too.
  const message = code !== undefined && text.startsWith(`${code}: `) ? text.slice(code.length + 2) : text;
  const head = `${palette.red(palette.bold('error'))} ${code ?? 'ERR_RDMC_UNEXPECTED'}: ${message}`;
  const advice = error instanceof CliError ? error.advice : undefined;
  const lines = [
    ...head.split('\n'),
    ...(advice === undefined ? [] : advice.split('\n').map((line) => `${' '.repeat(ADVICE_INDENT)}${line}`)),
  ];
  return columns === undefined ? lines : lines.flatMap((line) => fold(line, columns));
}

/** Prints an error to stderr. */
export function reportError(terminal: Terminal, error: unknown): void {
  const { stderr } = process;
  const palette = createPalette(wantsColour(stderr, process.env));
  terminal.note(...errorLines(error, palette, stderr.isTTY ? stderr.columns : undefined));
}
