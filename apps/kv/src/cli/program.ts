import { Command } from 'commander';
import { version } from '../version.js';
import { addAdminCommand } from './admin-command.js';
import { addBenchCommand } from './bench-command.js';
import { addDemoCommand } from './demo-command.js';
import { addMemberCommands } from './member-commands.js';
import { addSalvageCommand } from './salvage-command.js';
import type { Tell } from './tell.js';

const HELP = `
  kv demo                                                      # a cluster of this machine, with failures
  kv server --replicas 0                                       # one process without replication
  kv coordinator --members $M --key-file key                   # a cluster: on the host of the first member
  kv server --members $M --key-file key --id 1 --host 10.0.0.1 # on the host of the second member
  kv admin status --connect 10.0.0.1:6379                      # whether it is whole

Exit codes: 0 success; 1 an error; 2 wrong use: the message says what to change; 3 kv admin status or kv salvage found problems;
75 kv server: others have its part now, start it again; 141 the reader of the output closed it
`;

/** The command line. `tell` prints to standard output. Throws CommanderError where it would end the process. */
export function createProgram(tell: Tell): Command {
  const program = new Command('kv')
    .description(
      "A key-value store in memory, replicated by one-sided RDMA writes (Tailwind), for clients of Redis. Try 'kv demo'.",
    )
    .version(version, '-V, --version', 'print the version')
    .showSuggestionAfterError()
    .showHelpAfterError('      see kv --help, or kv <command> --help')
    .exitOverride()
    .addHelpText('after', HELP);
  addDemoCommand(program, tell);
  addMemberCommands(program, tell);
  addAdminCommand(program, tell);
  addSalvageCommand(program, tell);
  addBenchCommand(program, tell);
  return program;
}
