import type { Arguments } from '../resp/arguments.js';
import { type Command, define } from './command.js';
import type { CommandContext } from './command-context.js';
import { container, type Subcommand } from './container.js';
import { COMMAND_DOCS } from './docs.js';

const ANY = Number.POSITIVE_INFINITY;

/** The commands, and COMMAND, which lists them and itself. */
export function withCommandCommand(others: readonly Command[]): readonly Command[] {
  const all: Command[] = [...others];
  const byName = new Map<string, Command>();
  const named = container('command', 'loading stale', subcommands(all, byName));
  const run: Command['run'] = (x, args, session) => {
    if (args.count > 1) named.run(x, args, session);
    else tellCommands(x, all);
  };
  all.push(define('command', -1, 'loading stale', run));
  for (const command of all) byName.set(command.name, command);
  return all;
}

function subcommands(
  all: readonly Command[],
  byName: ReadonlyMap<string, Command>,
): Record<string, Subcommand> {
  return {
    COUNT: {
      least: 2,
      most: 2,
      run: (x) => x.writer.integer(all.length),
      help: ['COUNT', 'Return the number of commands'],
    },
    DOCS: {
      least: 2,
      most: ANY,
      run: (x, args) => docs(x, args, all, byName),
      help: ['DOCS [<command> ...]', 'Return what commands do'],
    },
    INFO: {
      least: 2,
      most: ANY,
      run: (x, args) => info(x, args, all, byName),
      help: ['INFO [<command> ...]', 'Return arity, flags and keys of commands'],
    },
    LIST: {
      least: 2,
      most: 2,
      run: ({ writer }) => {
        writer.array(all.length);
        for (const { name } of all) writer.bulk(name);
      },
      help: ['LIST', 'Return the names of all commands'],
    },
  };
}

/** The commands that the arguments name, in their order; undefined: there is no such command. */
function wanted(args: Arguments, byName: ReadonlyMap<string, Command>): (Command | undefined)[] {
  const found: (Command | undefined)[] = [];
  for (let i = 2; i < args.count; i += 1) found.push(byName.get(args.string(i).toLowerCase()));
  return found;
}

function info(
  x: CommandContext,
  args: Arguments,
  all: readonly Command[],
  byName: ReadonlyMap<string, Command>,
): void {
  tellCommands(x, args.count > 2 ? wanted(args, byName) : all);
}

function docs(
  { writer }: CommandContext,
  args: Arguments,
  all: readonly Command[],
  byName: ReadonlyMap<string, Command>,
): void {
  const told = args.count > 2 ? wanted(args, byName).filter((command) => command !== undefined) : all;
  writer.map(told.length);
  for (const { name } of told) {
    const { summary, since, group, complexity } = COMMAND_DOCS.get(name)!;
    writer.bulk(name);
    writer.map(4);
    for (const [field, text] of Object.entries({ summary, since, group, complexity })) {
      writer.bulk(field);
      writer.bulk(text);
    }
  }
}

function tellCommands(x: CommandContext, commands: readonly (Command | undefined)[]): void {
  x.writer.array(commands.length);
  for (const command of commands) {
    if (command) tellCommand(x, command);
    else x.writer.missing();
  }
}

/** As Redis 7: name, arity, flags, first key, last key, step, categories; no tips, key specifications, subcommands. */
function tellCommand({ writer }: CommandContext, command: Command): void {
  const { name, arity, flags, step, first, route } = command;
  const isKeyed = step > 0;
  const isMulti = isKeyed && (route === 'keys' || route === 'transaction');
  writer.array(10);
  writer.bulk(name);
  writer.integer(arity);
  writer.set(flags.length);
  for (const flag of flags) writer.simple(flag);
  writer.integer(isKeyed ? first : 0);
  writer.integer(isMulti ? -1 : isKeyed ? first : 0);
  writer.integer(step);
  const categories = categoriesOf(command);
  writer.set(categories.length);
  for (const category of categories) writer.simple(category);
  for (let i = 0; i < 3; i += 1) writer.array(0);
}

/** Redis's categories, as far as flags and group tell them. */
function categoriesOf({ name, flags }: Command): string[] {
  const { group } = COMMAND_DOCS.get(name)!;
  const kinds: Record<string, string> = { generic: 'keyspace', transactions: 'transaction' };
  const categories = ['write', 'admin', 'readonly'].filter((flag) => flags.includes(flag));
  return [
    ...categories.map((flag) => (flag === 'readonly' ? '@read' : `@${flag}`)),
    ...(group === 'server' || group === 'cluster' ? [] : [`@${kinds[group] ?? group}`]),
    flags.includes('fast') ? '@fast' : '@slow',
  ];
}
