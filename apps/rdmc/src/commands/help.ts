import type { Command } from 'commander';
import { ExitCode, exitMeanings } from '../exit-codes.js';

export interface HelpNotes {
  /** What the command is about, in a few lines. */
  readonly about?: readonly string[];
  /** Command lines and what each does. */
  readonly examples: readonly (readonly [command: string, meaning: string])[];
  /** Exit codes beyond those every command has. */
  readonly exitCodes?: readonly ExitCode[];
}

const COMMON = [ExitCode.OK, ExitCode.FAILURE, ExitCode.USAGE, ExitCode.INTERRUPTED];

/** Puts examples and the table of exit codes below a command's help. */
export function addHelpNotes(command: Command, { about = [], examples, exitCodes = [] }: HelpNotes): Command {
  const width = Math.max(...examples.map(([line]) => line.length));
  const codes = [...new Set<ExitCode>([...COMMON, ...exitCodes])].sort((a, b) => a - b);
  const lines = [
    ...(about.length > 0 ? ['', ...about] : []),
    '',
    'Examples:',
    ...examples.map(([line, meaning]) => `  $ ${line.padEnd(width)}  ${meaning}`),
    '',
    'Exit codes:',
    ...codes.map((code) => `  ${String(code).padStart(3)}  ${exitMeanings[code]}`),
  ];
  return command.addHelpText('after', lines.join('\n'));
}
