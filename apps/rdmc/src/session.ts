import type { ExitCode } from './exit-codes.js';
import type { Terminal } from './ui/terminal.js';

/** The terminal of a command, and its exit code. */
export interface Session {
  readonly terminal: Terminal;
  /** The command of `rdmc receive --exec`: the rest of the command line; undefined where there is none. */
  readonly exec?: readonly string[] | undefined;
  exitCode: ExitCode;
}
