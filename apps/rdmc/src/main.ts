#!/usr/bin/env node
import { runCommandLine } from './command-line.js';
import type { CliError } from './errors.js';
import { ExitCode } from './exit-codes.js';
import { endAnyway, outputFailed } from './interrupt.js';
import { reportError } from './ui/report-error.js';
import { createTerminal } from './ui/terminal.js';

const LINGER_MS = 3000;

const terminal = createTerminal();

function endWithout(failure: CliError): void {
  if (failure.exitCode !== ExitCode.OUTPUT_CLOSED) reportError(terminal, failure);
  process.exit(failure.exitCode);
}

// `rdmc schedule | head` ends as other tools do whose reader has closed the pipe.
process.stdout.on('error', (error) => outputFailed(error, endWithout));
// Nobody can read that stderr has failed. A receiver goes on without its log.
process.stderr.on('error', () => {});
process.exitCode = await runCommandLine(process.argv, terminal);
// Everything is closed by now. If something goes on, a look-up or a defect, the process ends all the same.
setTimeout(endAnyway, LINGER_MS).unref();
