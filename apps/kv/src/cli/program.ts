import { Command } from 'commander';
import { version } from '../version.js';
import { addAdminCommand } from './admin-command.js';
import { addBenchCommand } from './bench-command.js';
import { addDemoCommand } from './demo-command.js';
import { addMemberCommands } from './member-commands.js';
import { addSalvageCommand } from './salvage-command.js';
import type { Tell } from './tell.js';

/** The command line. `tell` prints to standard output. */
export function createProgram(tell: Tell): Command {
  const program = new Command('kv')
    .description(
      "A key-value store in memory, replicated by one-sided RDMA writes (Tailwind), for clients of Redis. Try 'kv demo'.",
    )
    .version(version, '-V, --version', 'print the version')
    .showSuggestionAfterError();
  addDemoCommand(program, tell);
  addMemberCommands(program, tell);
  addAdminCommand(program, tell);
  addSalvageCommand(program, tell);
  addBenchCommand(program, tell);
  return program;
}
