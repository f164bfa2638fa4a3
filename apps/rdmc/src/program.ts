import { Command } from 'commander';
import { type CommandEntry, commandTable } from './command-table.js';
import { addHelpNotes } from './commands/help.js';
import { ExitCode } from './exit-codes.js';
import type { Session } from './session.js';
import { version } from './version.js';

/** The entry of the command that the arguments run or ask about; none for the version and for the list of commands. */
function namedEntries(argv: readonly string[]): CommandEntry[] {
  const [first, second] = argv.slice(2).filter((word) => word !== '--');
  const wanted = first === 'help' ? second : first;
  return commandTable.filter(({ name }) => name === wanted);
}

/** The parser of the command in these arguments. It throws errors, rather than print them and exit. */
export function createProgram(session: Session, argv: readonly string[]): Promise<Command> {
  return programWith(namedEntries(argv), session);
}

/** The parser of all commands, with their options. */
export function createWholeProgram(session: Session): Promise<Command> {
  return programWith(commandTable, session);
}

/** The parser, with every command's name and description, and the options of some commands. */
async function programWith(defined: readonly CommandEntry[], session: Session): Promise<Command> {
  const program = emptyProgram(session);
  const definitions = await Promise.all(
    defined.map(async (entry) => [entry.name, await entry.load()] as const),
  );
  const byName = new Map(definitions);
  for (const { name, description, argument, hidden = false } of commandTable) {
    const command = program.command(name, { hidden }).description(description);
    if (argument) command.argument(...argument);
    byName.get(name)?.(command, session, () => createWholeProgram(session));
  }
  return program;
}

function emptyProgram({ terminal }: Session): Command {
  const program = new Command('rdmc')
    .description('RDMA for Node.js: reliable multicast of large objects over RDMA unicasts.')
    .version(version, '-V, --version', 'print the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.replace(/\n$/, '')),
      outputError: () => {},
    })
    // Commander would count options, which commands in a list do not have yet. Each has at least --help.
    .configureHelp({ subcommandTerm: (command) => `${command.name()} ${command.usage()}` })
    .showSuggestionAfterError()
    .helpCommand('help [command]', 'help about a command');
  return addHelpNotes(program, {
    examples: [
      ['rdmc cast model/ --to node1,node2 --ssh', 'a directory to two machines, verified'],
      ['rdmc serve /srv/models --key-file cast.key', 'to machines that start at different times'],
      ['rdmc fetch node0/llama --dir /srv --key-file fetch.key', 'on each of them'],
      ['rdmc demo', 'send the node binary to seven processes, verified'],
      ['rdmc schedule --nodes 8 --blocks 6', 'draw the steps of the binomial pipeline'],
      ['rdmc doctor', 'check this machine, with advice'],
    ],
    exitCodes: Object.values(ExitCode),
  });
}
