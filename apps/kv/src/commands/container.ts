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

/** A command that consists of subcommands, and of HELP. */
export function container(
  name: string,
  flags: string,
  subcommands: Readonly<Record<string, Subcommand>>,
  details: Parameters<typeof define>[4] = {},
): Command {
  const run = (x: CommandContext, args: Arguments, session: Session): void => {
    const word = args.word(1);
    const found = Object.hasOwn(subcommands, word) ? subcommands[word] : undefined;
    if (found) {
      if (args.count < found.least || args.count > found.most) throw wrongNumber(name, word);
      found.run(x, args, session);
    } else if (word !== 'HELP') throw unknown(name, args.string(1));
    else if (args.count !== 2) throw wrongNumber(name, word);
    else tellHelp(x, name, subcommands);
  };
  return define(name, -2, flags, run, details);
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
function wrongNumber(name: string, word: string): CommandError {
  return new CommandError(`ERR wrong number of arguments for '${name}|${word.toLowerCase()}' command`);
}

function unknown(name: string, word: string): CommandError {
  return new CommandError(`ERR unknown subcommand '${word}'. Try ${name.toUpperCase()} HELP.`);
}
