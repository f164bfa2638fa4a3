#!/usr/bin/env node
import { categoryOf, codeOf, messageOf, systemReason } from '@rdmc/common';
import { CommanderError } from 'commander';
import { TrainingError } from './errors.js';
import { createProgram } from './program.js';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const EXIT_OUTPUT_CLOSED = 141;
/** Everything is closed at the end. A defect that leaves something open must not block the shell. */
const LINGER_MS = 3000;

/** Commander has printed an error of the options, or the help. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  const code = codeOf(error) ?? '';
  process.stderr.write(`error ${code}: ${messageOf(error)}\n`);
  if (error instanceof TrainingError) return error.exitCode;
  return categoryOf(code) === 'usage' ? EXIT_USAGE : EXIT_FAILED;
}

// `rdmc-training | head` ends as other tools do when their reader has ended; its workers end with it.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT_OUTPUT_CLOSED);
  process.stderr.write(`error ${error.code}: cannot write standard output: ${systemReason(error)}\n`);
  process.exit(EXIT_FAILED);
});
// Nobody can read that stderr has failed: the run goes on without it.
process.stderr.on('error', () => {});
try {
  await createProgram((line) => process.stdout.write(`${line}\n`)).parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}
setTimeout(() => process.exit(), LINGER_MS).unref();
