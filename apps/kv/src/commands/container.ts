import type { Arguments } from '../resp/arguments.js';
import { CommandError } from '../resp/command-error.js';
import { type Command, define } from './command.js';
import type { CommandContext } from './command-context.js';
import type { Session } from './session.js';

/** A part of a command, which the first argument names. */
export interface Subcommand {
  /** Arguments, with the command's name and its own. */
  readonly least: number;
  readonly most: number;
  readonly run: (x: CommandContext, args: Arguments, session: Session) => void;
  /** Its usage, and what it does. */
  readonly help: readonly string[];
}

/** The arguments of HELP. */
const HELP = { least: 2, most: 2 } as const;

/** A command that consists of subcommands, and of HELP. */
export function container(
  name: string,
  flags: string,
  subcommands: Readonly<Record<string, Subcommand>>,
  details: Parameters<typeof define>[4] = {},
): Command {
  const find = (word: string): Subcommand | undefined =>
    Object.hasOwn(subcommands, word) ? subcommands[word] : undefined;
  const refusalOf = (args: Arguments): string | undefined => {
    const word = args.word(1);
    const { least, most } = find(word) ?? HELP;
    if (word !== 'HELP' && !find(word)) return unknown(name, args.string(1));
    return args.count < least || args.count > most ? wrongNumber(name, word) : undefined;
  };
  const run = (x: CommandContext, args: Arguments, session: Session): void => {
    const refusal = refusalOf(args);
    if (refusal !== undefined) throw new CommandError(refusal);
    const found = find(args.word(1));
    if (found) found.run(x, args, session);
    else tellHelp(x, name, subcommands);
  };
  return { ...define(name, -2, flags, run, details), refusalOf };
}

function tellHelp(
  { writer }: CommandContext,
  name: string,
  subcommands: Readonly<Record<string, Subcommand>>,
): void {
  const lines = [`${name.toUpperCase()} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:`];
  for (const { help } of Object.values(subcommands)) {
    const [usage, ...meaning] = help;
    lines.push(usage!, ...meaning.map((line) => `    ${line}.`));
  }
  lines.push('HELP', '    Print this help.');
  writer.array(lines.length);
  for (const line of lines) writer.simple(line);
}

/** As Redis names it: `object|encoding`. */
function wrongNumber(name: string, word: string): string {
  return `ERR wrong number of arguments for '${name}|${word.toLowerCase()}' command`;
}

function unknown(name: string, word: string): string {
  return `ERR unknown subcommand '${word}'. Try ${name.toUpperCase()} HELP.`;
}
