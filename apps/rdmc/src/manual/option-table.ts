import { checksums, comparisons } from '@rdmc/cast/values';
import { algorithms } from '@rdmc/schedule';
import type { Argument, Command, Option } from 'commander';
import { exitCodesOf, type HelpNotes, notesOf } from '../commands/help.js';
import type { ExitCode } from '../exit-codes.js';

/** The commands and options of `rdmc`, as its parser has them: for the shells' completions and for the manual. */

export interface OptionFacts {
  /** `-a, --algorithm <name>`. */
  readonly flags: string;
  readonly short: string | undefined;
  readonly long: string | undefined;
  readonly takesValue: boolean;
  /** What a value is, where a shell can complete it. */
  readonly values: 'path' | readonly string[] | undefined;
  readonly description: string;
  readonly defaultValue: string | undefined;
}

export interface CommandFacts {
  /** Its words: `rdmc bench latency`. */
  readonly name: string;
  readonly description: string;
  /** `<path...>`. */
  readonly arguments: string;
  readonly options: readonly OptionFacts[];
  readonly commands: readonly CommandFacts[];
  readonly notes: HelpNotes | undefined;
  readonly exitCodes: readonly ExitCode[];
}

/** The values of options that have a fixed list of them. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  '--algorithm': ['auto', ...algorithms],
  '--relay': ['auto', 'worker', 'device'],
  '--checksum': checksums,
  '--compare': comparisons,
  '--transport': ['auto', 'shm', 'tcp'],
  '--device': ['auto', 'soft', 'ibverbs'],
};

function optionFacts({
  flags,
  short,
  long,
  required,
  optional,
  description,
  defaultValue,
}: Option): OptionFacts {
  const isPath = /<(path|file|directory)>/.test(flags);
  return {
    ...{ flags, short, long, description },
    takesValue: required || optional,
    values: VALUES[long ?? ''] ?? (isPath ? 'path' : undefined),
    defaultValue: typeof defaultValue === 'string' && defaultValue !== '' ? defaultValue : undefined,
  };
}

function argumentText(argument: Argument): string {
  const text = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${text}>` : `[${text}]`;
}

/** The table of a command and those below it. Hidden commands are left out. */
export function commandFacts(command: Command, parents: readonly string[] = []): CommandFacts {
  const words = [...parents, command.name()];
  const help = command.createHelp();
  const notes = notesOf(command);
  return {
    name: words.join(' '),
    description: command.description(),
    arguments: command.registeredArguments.map(argumentText).join(' '),
    options: help.visibleOptions(command).map(optionFacts),
    commands: help
      .visibleCommands(command)
      .filter((each) => each.name() !== 'help')
      .map((each) => commandFacts(each, words)),
    notes,
    exitCodes: notes ? exitCodesOf(notes) : [],
  };
}

/** A command and all below it. */
export function allCommands(facts: CommandFacts): CommandFacts[] {
  return [facts, ...facts.commands.flatMap(allCommands)];
}
