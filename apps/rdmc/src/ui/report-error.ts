import { CliError, codeOf, messageOf } from '../errors.js';
import { createPalette, wantsColour } from './palette.js';
import type { Terminal } from './terminal.js';

/** Prints `error CODE: message`, and the advice. An error without a code is a defect, and is printed with its stack. */
export function reportError(terminal: Terminal, error: unknown): void {
  const palette = createPalette(wantsColour(process.stderr, process.env));
  const code = codeOf(error);
  const message =
    code === undefined && error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
  terminal.note(`${palette.red(palette.bold('error'))} ${code ?? 'ERR_RDMC_UNEXPECTED'}: ${message}`);
  if (error instanceof CliError && error.advice) terminal.note(`      ${error.advice}`);
}
