import { CommanderError } from 'commander';
import { errorDocument, exitCodeOf, usageError } from './errors.js';
import { ExitCode } from './exit-codes.js';
import { createProgram } from './program.js';
import { splitExec } from './receive/exec-arguments.js';
import { errorRecord } from './receive/log.js';
import type { Session } from './session.js';
import { reportError } from './ui/report-error.js';
import type { Terminal } from './ui/terminal.js';

/** Options with which standard output is for programs. */
const MACHINE_READABLE = ['--json', '--controlled'];

/** Converts Commander's errors; `undefined` for help and version, which are not errors. */
function translated(error: unknown): unknown {
  if (!(error instanceof CommanderError)) return error;
  if (error.exitCode === 0) return undefined;
  if (error.code === 'commander.help')
    return usageError('no command given', 'give one of the commands above');
  return usageError(error.message.replace(/^error: /, ''), 'see rdmc --help, or rdmc <command> --help');
}

/** Runs the command of these arguments, as in `process.argv`. Errors are printed; resolves to the exit code. */
export async function runCommandLine(whole: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const { argv, exec } = splitExec(whole);
  const session: Session = { terminal, exec, exitCode: ExitCode.OK };
  try {
    const program = await createProgram(session, argv);
    await program.parseAsync(argv);
    return session.exitCode;
  } catch (thrown) {
    const error = translated(thrown);
    if (error === undefined) return ExitCode.OK;
    if (MACHINE_READABLE.some((option) => argv.includes(option)))
      terminal.json({ error: errorDocument(error) });
    const exitCode = exitCodeOf(error);
    // A closed output is not reported: the user closed it.
    if (exitCode === ExitCode.OUTPUT_CLOSED) return exitCode;
    if (argv.includes('--log-json')) terminal.note(JSON.stringify(errorRecord(error)));
    else reportError(terminal, error);
    return exitCode;
  }
}
