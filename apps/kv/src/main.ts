#!/usr/bin/env node
import { categoryOf, systemReason } from '@rdmc/common';
import { CommanderError } from 'commander';
import { adviceFor } from './cli/advice.js';
import { createProgram } from './cli/program.js';
import { outputOf } from './cli/tell.js';
import { Interrupted, outputClosed } from './demo/interruption.js';
import { codeOf, messageOf } from './errors.js';

const EXIT_PLANNED = 0;
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** Commands of a process that serves: its end must not depend on the reader of its lines. */
const SERVING: readonly (string | undefined)[] = ['server', 'coordinator'];

/** Prints the error, unless Commander has printed it, or the help. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  const code = codeOf(error);
  const advice = adviceFor(code);
  process.stderr.write(
    `error ${code}: ${messageOf(error)}\n${advice === undefined ? '' : `      ${advice}\n`}`,
  );
  if (error instanceof Interrupted) return error.exitCode;
  return categoryOf(code) === 'usage' ? EXIT_USAGE : EXIT_FAILED;
}

/** The parent process has ended, and its cluster ends with it. */
function endWithParent(): void {
  if (process.listenerCount('SIGTERM') > 0) process.kill(process.pid, 'SIGTERM');
  else process.exit(EXIT_PLANNED);
}

if (process.send) {
  process.on('disconnect', endWithParent);
  // It may have ended before this line.
  if (!process.connected) endWithParent();
}

/** Tells the first failure of standard output, unless its reader has closed it. */
function tellOutputFailure(error: NodeJS.ErrnoException): void {
  if (process.exitCode) return;
  process.exitCode = EXIT_FAILED;
  process.stderr.write(`error ${error.code}: cannot write standard output: ${systemReason(error)}\n`);
}

// `kv demo | head` ends as other tools do whose reader has closed the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (SERVING.includes(process.argv[2])) return;
  if (error.code === 'EPIPE') outputClosed();
  else tellOutputFailure(error);
});

try {
  await createProgram(outputOf(process)).parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
  // A signal would make the exit code 0.
  process.off('disconnect', endWithParent);
  if (process.connected) process.disconnect();
  // The work that was interrupted may still wait for something.
  if (error instanceof Interrupted) process.exit();
}
