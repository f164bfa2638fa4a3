#!/usr/bin/env node
import { CommanderError } from 'commander';
import { errorDocument, exitCodeOf, usageError } from './errors.js';
import { ExitCode } from './exit-codes.js';
import { outputClosed } from './interrupt.js';
import { createProgram } from './program.js';
import { splitExec } from './receive/exec-arguments.js';
import { errorRecord } from './receive/log.js';
import type { Session } from './session.js';
import { reportError } from './ui/report-error.js';
import { createTerminal } from './ui/terminal.js';

/** Converts Commander's errors; `undefined` for help and version, which are not errors. */
function translated(error: unknown): unknown {
  if (!(error instanceof CommanderError)) return error;
  if (error.exitCode === 0) return undefined;
  if (error.code === 'commander.help')
    return usageError('no command given', 'see the commands with: rdmc --help');
  return usageError(error.message.replace(/^error: /, ''), 'see rdmc --help, or rdmc <command> --help');
}

/** Options with which standard output is for programs. */
const MACHINE_READABLE = ['--json', '--controlled'];
const LINGER_MS = 3000;

async function main(whole: readonly string[]): Promise<ExitCode> {
  const { argv, exec } = splitExec(whole);
  const session: Session = { terminal: createTerminal(), exec, exitCode: ExitCode.OK };
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
    // A closed output is not reported: the user closed it.
    if (exitCode === ExitCode.OUTPUT_CLOSED) return exitCode;
    if (argv.includes('--log-json')) session.terminal.note(JSON.stringify(errorRecord(error)));
    else reportError(session.terminal, error);
    return exitCode;
  }
}

// `rdmc schedule | head` ends as other tools do whose reader has closed the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  outputClosed();
});
process.exitCode = await main(process.argv);
// Everything is closed by now. If a defect leaves something open, the process ends all the same.
setTimeout(() => process.exit(), LINGER_MS).unref();
