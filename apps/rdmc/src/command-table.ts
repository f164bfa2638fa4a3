import type { Command } from 'commander';
import { shells } from './manual/shells.js';
import type { Session } from './session.js';

/**
 * Adds options, notes and what it does to a command that has its name, its description and its arguments.
 *
 * @param whole makes the parser of all commands
 */
type DefineCommand = (command: Command, session: Session, whole: () => Promise<Command>) => void;

/** A command as the list of `rdmc --help` shows it, and the rest of it in a module of its own. */
export interface CommandEntry {
  readonly name: string;
  readonly description: string;
  /** Its argument as Commander writes it, and what it is. */
  readonly argument?: readonly [name: string, description: string];
  readonly hidden?: boolean;
  readonly load: () => Promise<DefineCommand>;
}

/**
 * The commands in the order of the help. The module of a command is loaded only when the command runs or shows its help:
 * loading all of them takes longer than most commands run, and the list of commands needs none of them.
 *
 * `demo` and `bench` stand apart. Their code is in `demo/`, `bench/`, `cluster/` (processes of one machine), `member/`
 * (the program of those processes) and `hash/`. The other commands import nothing of it, also not indirectly; a rule of
 * dependency-cruiser checks that. Code that both sides need is elsewhere: in `ui/`, `doctor/` or beside `program.ts`.
 */
export const commandTable: readonly CommandEntry[] = [
  {
    name: 'cast',
    description: 'Send files and directories to many machines at once, verified.',
    argument: ['<path...>', 'files and directories; or -: standard input, as one file'],
    load: async () => (await import('./commands/cast.js')).defineCastCommand,
  },
  {
    name: 'receive',
    description: 'Receive what rdmc cast sends, into a directory.',
    load: async () => (await import('./commands/receive.js')).defineReceiveCommand,
  },
  {
    name: 'serve',
    description: 'Serve a directory to rdmc fetch: machines that start at different times share one cast.',
    argument: ['<dir>', 'the directory; everything below it can be fetched, except symbolic links'],
    load: async () => (await import('./commands/serve.js')).defineServeCommand,
  },
  {
    name: 'fetch',
    description: 'Fetch a file or a directory from rdmc serve, together with others that fetch it.',
    argument: ['<source>', 'HOST[:PORT][/NAME]; without a name: everything that is served'],
    load: async () => (await import('./commands/fetch.js')).defineFetchCommand,
  },
  {
    name: 'key',
    description: 'Make a key for cast, receive, serve and fetch, or from it a key for fetching only.',
    argument: ['[file]', 'path of the new file, which only you can read'],
    load: async () => (await import('./commands/key.js')).defineKeyCommand,
  },
  {
    name: 'demo',
    description: 'Multicast a real file among real processes of this machine, verify it, compare algorithms.',
    load: async () => (await import('./commands/demo.js')).defineDemoCommand,
  },
  {
    name: 'schedule',
    description: 'Draw the transfers of a schedule: sender, receiver, block and step.',
    load: async () => (await import('./commands/schedule.js')).defineScheduleCommand,
  },
  {
    name: 'simulate',
    description: 'Predict a multicast on a cluster: the state machines of groups on simulated hardware.',
    load: async () => (await import('./commands/simulate.js')).defineSimulateCommand,
  },
  {
    name: 'devices',
    description: 'List devices, ports, addresses and limits, and the device that `auto` chooses.',
    load: async () => (await import('./commands/devices.js')).defineDevicesCommand,
  },
  {
    name: 'doctor',
    description: 'Check limits, permissions and devices of this machine, with advice.',
    load: async () => (await import('./commands/doctor.js')).defineDoctorCommand,
  },
  {
    name: 'bench',
    description: 'Measure bandwidth, latency, message rate and multicast on this machine.',
    load: async () => (await import('./commands/bench.js')).defineBenchCommand,
  },
  {
    name: 'trace',
    description: 'Say who delays whom: read what --trace wrote, of one or several hosts.',
    load: async () => (await import('./commands/trace.js')).defineTraceCommand,
  },
  {
    name: 'completion',
    description: 'Print a script that completes the command line in a shell.',
    argument: ['<shell>', shells.join(', ')],
    load: async () => (await import('./commands/completion.js')).defineCompletionCommand,
  },
  {
    name: 'manual',
    description: 'Print the page rdmc(1) of the manual, for man.',
    hidden: true,
    load: async () => (await import('./commands/manual.js')).defineManualCommand,
  },
];
