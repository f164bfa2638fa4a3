import type { Command } from 'commander';
import { ExitCode, exitMeanings } from '../exit-codes.js';
import { fold } from '../ui/fold.js';
import { wrap } from '../ui/wrap.js';

export interface HelpNotes {
  /** Describes the command: lines of one paragraph. */
  readonly about?: readonly string[];
  /** Command lines with their meanings. */
  readonly examples: readonly (readonly [command: string, meaning: string])[];
  /** Exit codes beyond those of every command. */
  readonly exitCodes?: readonly ExitCode[];
}

const COMMON = [ExitCode.OK, ExitCode.FAILURE, ExitCode.USAGE, ExitCode.INTERRUPTED];
/** Columns where the output is not a terminal, and the limits of the window's. */
const DEFAULT_COLUMNS = 110;
const [LEAST_COLUMNS, MOST_COLUMNS] = [40, 200];
/** A word of a command line: quoted parts stay whole. */
const WORDS = /(?:[^\s'"]|'[^']*'|"[^"]*")+/g;

/** A command line in several lines, which a shell reads as one. */
function continued(line: string, columns: number): string[] {
  const lines: string[] = [];
  let current = '  $';
  for (const word of line.match(WORDS) ?? []) {
    if (current.length + word.length + 3 > columns && current.trim() !== '$') {
      lines.push(`${current} \\`);
      current = '     ';
    }
    current += ` ${word}`;
  }
  return [...lines, current];
}

/** Examples with their meanings beside them, or where the window is narrow below them. */
function exampleLines(examples: HelpNotes['examples'], columns: number): string[] {
  const width = Math.max(...examples.map(([line]) => line.length));
  const longest = Math.max(...examples.map(([, meaning]) => meaning.length));
  if (4 + width + 2 + longest <= columns)
    return examples.map(([line, meaning]) => `  $ ${line.padEnd(width)}  ${meaning}`);
  return examples.flatMap(([line, meaning]) => [
    ...fold(`  # ${meaning}`, columns),
    ...continued(line, columns),
  ]);
}

/** The exit codes of a command: those of every command, and its own. */
export function exitCodesOf({ exitCodes = [] }: HelpNotes): readonly ExitCode[] {
  return [...new Set<ExitCode>([...COMMON, ...exitCodes])].sort((a, b) => a - b);
}

/** The text below the options, as it fits a window. */
export function helpNotes(notes: HelpNotes, columns: number): string[] {
  const { about = [], examples } = notes;
  const codes = exitCodesOf(notes).map((code) => `  ${String(code).padStart(3)}  ${exitMeanings[code]}`);
  return [
    ...(about.length > 0 ? ['', ...wrap(about.join(' '), columns)] : []),
    '',
    'Examples:',
    ...exampleLines(examples, columns),
    '',
    'Exit codes:',
    ...codes.flatMap((line) => fold(line, columns)),
  ];
}

const known = new WeakMap<Command, HelpNotes>();

/** The notes that a command was given, for its page of the manual. */
export function notesOf(command: Command): HelpNotes | undefined {
  return known.get(command);
}

/** Adds examples and the table of exit codes to a command's help. */
export function addHelpNotes(command: Command, notes: HelpNotes): Command {
  known.set(command, notes);
  return command.addHelpText('after', () => {
    const columns = process.stdout.columns || DEFAULT_COLUMNS;
    return helpNotes(notes, Math.max(LEAST_COLUMNS, Math.min(MOST_COLUMNS, columns))).join('\n');
  });
}
