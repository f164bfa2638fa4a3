#!/usr/bin/env node
import { CommanderError } from 'commander';
import { errorDocument, exitCodeOf, usageError } from './errors.js';
import { ExitCode } from './exit-codes.js';
import { outputClosed } from './interrupt.js';
import { createProgram } from './program.js';
import type { Session } from './session.js';
import { reportError } from './ui/report-error.js';
import { createTerminal } from './ui/terminal.js';

/** Commander's errors as ours; `undefined` for help and version, which are no errors. */
function translated(error: unknown): unknown {
  if (!(error instanceof CommanderError)) return error;
  if (error.exitCode === 0) return undefined;
  if (error.code === 'commander.help') return usageError('no command given', 'choose one of the above');
  return usageError(error.message.replace(/^error: /, ''), 'see rdmc --help, or rdmc <command> --help');
}

/** Options with which standard output is for programs. */
const MACHINE_READABLE = ['--json', '--controlled'];
const LINGER_MS = 3000;

async function main(argv: readonly string[]): Promise<ExitCode> {
  const session: Session = { terminal: createTerminal(), exitCode: ExitCode.OK };
  try {
    const program = await createProgram(session, argv);
    await program.parseAsync(argv);
    return session.exitCode;
  } catch (thrown) {
    const error = translated(thrown);
    if (error === undefined) return ExitCode.OK;
    if (MACHINE_READABLE.some((option) => argv.includes(option)))
      session.terminal.json({ error: errorDocument(error) });
    const exitCode = exitCodeOf(error);
    // Whoever closed the output knows.
    if (exitCode !== ExitCode.OUTPUT_CLOSED) reportError(session.terminal, error);
    return exitCode;
  }
}

// `rdmc schedule | head` ends like any other tool whose reader has gone.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  outputClosed();
});
process.exitCode = await main(process.argv);
// Everything is closed by now. Should a defect leave something open, that must not keep the shell waiting.
setTimeout(() => process.exit(), LINGER_MS).unref();
