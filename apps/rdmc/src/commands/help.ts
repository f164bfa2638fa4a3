import type { Command } from 'commander';
import { ExitCode, exitMeanings } from '../exit-codes.js';

export interface HelpNotes {
  /** Describes the command in a few lines. */
  readonly about?: readonly string[];
  /** Command lines with their meanings. */
  readonly examples: readonly (readonly [command: string, meaning: string])[];
  /** Exit codes beyond those of every command. */
  readonly exitCodes?: readonly ExitCode[];
}

const COMMON = [ExitCode.OK, ExitCode.FAILURE, ExitCode.USAGE, ExitCode.INTERRUPTED];

/** Adds examples and the table of exit codes to a command's help. */
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
