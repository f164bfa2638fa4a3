import { Command } from 'commander';
import { addHelpNotes } from './commands/help.js';
import { ExitCode } from './exit-codes.js';
import type { Session } from './session.js';
import { version } from './version.js';

/** @param whole makes the parser of all commands */
type AddCommand = (program: Command, session: Session, whole: () => Promise<Command>) => void;

/**
 * The commands in the order of the help. A command is loaded only when it is needed: loading all of them takes longer
 * than most commands run.
 *
 * `demo` and `bench` stand apart. Their code is in `demo/`, `bench/`, `cluster/` (processes of one machine), `member/`
 * (the program of those processes) and `hash/`. The other commands import nothing of it, also not indirectly; a rule of
 * dependency-cruiser checks that. Code that both sides need is elsewhere: in `ui/`, `doctor/` or beside this file.
 */
const COMMANDS: Readonly<Record<string, () => Promise<AddCommand>>> = {
  cast: async () => (await import('./commands/cast.js')).addCastCommand,
  receive: async () => (await import('./commands/receive.js')).addReceiveCommand,
  serve: async () => (await import('./commands/serve.js')).addServeCommand,
  fetch: async () => (await import('./commands/fetch.js')).addFetchCommand,
  key: async () => (await import('./commands/key.js')).addKeyCommand,
  demo: async () => (await import('./commands/demo.js')).addDemoCommand,
  schedule: async () => (await import('./commands/schedule.js')).addScheduleCommand,
  simulate: async () => (await import('./commands/simulate.js')).addSimulateCommand,
  devices: async () => (await import('./commands/devices.js')).addDevicesCommand,
  doctor: async () => (await import('./commands/doctor.js')).addDoctorCommand,
  bench: async () => (await import('./commands/bench.js')).addBenchCommand,
  completion: async () => (await import('./commands/completion.js')).addCompletionCommand,
  manual: async () => (await import('./commands/manual.js')).addManualCommand,
};

/** The command in the arguments, or all commands for help and for suggestions; none for the version. */
function neededFor(name: string | undefined): string[] {
  if (name === '--version' || name === '-V') return [];
  return name !== undefined && Object.hasOwn(COMMANDS, name) ? [name] : Object.keys(COMMANDS);
}

/** The parser of the commands that these arguments need. It throws errors, rather than print them and exit. */
export async function createProgram(session: Session, argv: readonly string[]): Promise<Command> {
  const program = new Command('rdmc')
    .description('RDMA for Node.js: reliable multicast of large objects over RDMA unicasts.')
    .version(version, '-V, --version', 'print the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => session.terminal.out(text.replace(/\n$/, '')),
      outputError: () => {},
    })
    .showSuggestionAfterError()
    .helpCommand('help [command]', 'help about a command');
  addHelpNotes(program, {
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
  const adders = await Promise.all(neededFor(argv[2]).map((name) => COMMANDS[name]!()));
  const whole = (): Promise<Command> => createProgram(session, []);
  for (const add of adders) add(program, session, whole);
  return program;
}
