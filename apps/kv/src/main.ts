#!/usr/bin/env node
import { categoryOf } from '@rdmc/common';
import { CommanderError } from 'commander';
import { createProgram } from './cli/program.js';
import { Interrupted, outputClosed } from './demo/interruption.js';
import { codeOf, messageOf } from './errors.js';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** Commands of a process that serves: its end must not depend on the reader of its lines. */
const SERVING: readonly (string | undefined)[] = ['server', 'coordinator'];

/** Prints a line for people, or sends an event to a parent process of this package. */
function tell(line: string | undefined, event: object): void {
  if (process.send && process.connected) process.send(event);
  else if (line !== undefined) process.stdout.write(`${line}\n`);
}

/** Prints the error, unless Commander has printed it, or the help. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  const code = codeOf(error);
  process.stderr.write(`error ${code}: ${messageOf(error)}\n`);
  if (error instanceof Interrupted) return error.exitCode;
  return categoryOf(code) === 'usage' ? EXIT_USAGE : EXIT_FAILED;
}

// The parent process has ended, and its cluster ends with it.
const endWithParent = () => process.kill(process.pid, 'SIGTERM');
if (process.send) process.on('disconnect', endWithParent);

// `kv demo | head` ends as other tools do whose reader has closed the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  if (!SERVING.includes(process.argv[2])) outputClosed();
});

try {
  await createProgram(tell).parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
  // A signal would make the exit code 0.
  process.off('disconnect', endWithParent);
  if (process.connected) process.disconnect();
  // The work that was interrupted may still wait for something.
  if (error instanceof Interrupted) process.exit();
}
