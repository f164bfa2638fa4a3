import type { ExitCode } from './exit-codes.js';
import type { Terminal } from './ui/terminal.js';

/** What a command is given, and where it leaves its exit code. */
export interface Session {
  readonly terminal: Terminal;
  exitCode: ExitCode;
}
