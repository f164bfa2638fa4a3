import type { ExitCode } from './exit-codes.js';
import type { Terminal } from './ui/terminal.js';

/** The terminal of a command, and its exit code. */
export interface Session {
  readonly terminal: Terminal;
  /** The program and arguments of `rdmc receive --exec`; undefined without `--exec`. */
  readonly exec?: readonly string[] | undefined;
  exitCode: ExitCode;
}
