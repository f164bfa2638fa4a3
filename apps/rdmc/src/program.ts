import { Command } from 'commander';
import { addHelpNotes } from './commands/help.js';
import { ExitCode } from './exit-codes.js';
import type { Session } from './session.js';
import { version } from './version.js';

type AddCommand = (program: Command, session: Session) => void;

/** The commands in the order of the help. Each is loaded only where it is needed: loading all of them takes longer than most do. */
const COMMANDS: Readonly<Record<string, () => Promise<AddCommand>>> = {
  cast: async () => (await import('./commands/cast.js')).addCastCommand,
  receive: async () => (await import('./commands/receive.js')).addReceiveCommand,
  key: async () => (await import('./commands/key.js')).addKeyCommand,
  demo: async () => (await import('./commands/demo.js')).addDemoCommand,
  schedule: async () => (await import('./commands/schedule.js')).addScheduleCommand,
  devices: async () => (await import('./commands/devices.js')).addDevicesCommand,
  doctor: async () => (await import('./commands/doctor.js')).addDoctorCommand,
  bench: async () => (await import('./commands/bench.js')).addBenchCommand,
};

/** The command that is called for, or all of them for help and for suggestions. None is needed for the version. */
function neededFor(name: string | undefined): string[] {
  if (name === '--version' || name === '-V') return [];
  return name !== undefined && Object.hasOwn(COMMANDS, name) ? [name] : Object.keys(COMMANDS);
}

/** The command line as far as these arguments need it; errors of parsing are thrown, never printed and exited with. */
export async function createProgram(session: Session, argv: readonly string[]): Promise<Command> {
  const program = new Command('rdmc')
    .description('RDMA for Node.js: reliable multicast of large objects over RDMA unicasts.')
    .version(version, '-V, --version', 'print the version')
    .exitOverride()
    .configureOutput({ outputError: () => {} })
    .showSuggestionAfterError()
    .helpCommand('help [command]', 'help about a command');
  addHelpNotes(program, {
    examples: [
      ['rdmc cast model/ --to node1,node2 --ssh', 'a directory to two machines, verified'],
      ['rdmc demo', 'send the node binary to seven processes, verified'],
      ['rdmc schedule --nodes 8 --blocks 6', 'see how the binomial pipeline works'],
      ['rdmc doctor', 'what this machine can do, and what to change'],
    ],
    exitCodes: Object.values(ExitCode),
  });
  const adders = await Promise.all(neededFor(argv[2]).map((name) => COMMANDS[name]!()));
  for (const add of adders) add(program, session);
  return program;
}
