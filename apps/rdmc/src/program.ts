import { Command } from 'commander';
import { addBenchCommand } from './commands/bench.js';
import { addCastCommand } from './commands/cast.js';
import { addDemoCommand } from './commands/demo.js';
import { addDevicesCommand } from './commands/devices.js';
import { addDoctorCommand } from './commands/doctor.js';
import { addHelpNotes } from './commands/help.js';
import { addKeyCommand } from './commands/key.js';
import { addReceiveCommand } from './commands/receive.js';
import { addScheduleCommand } from './commands/schedule.js';
import { ExitCode } from './exit-codes.js';
import type { Terminal } from './ui/terminal.js';
import { version } from './version.js';

/** What a command is given, and where it leaves its exit code. */
export interface Session {
  readonly terminal: Terminal;
  exitCode: ExitCode;
}

/** All of the command line; errors of parsing are thrown, never printed and exited with. */
export function createProgram(session: Session): Command {
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
  addCastCommand(program, session);
  addReceiveCommand(program, session);
  addKeyCommand(program, session);
  addDemoCommand(program, session);
  addScheduleCommand(program, session);
  addDevicesCommand(program, session);
  addDoctorCommand(program, session);
  addBenchCommand(program, session);
  return program;
}
