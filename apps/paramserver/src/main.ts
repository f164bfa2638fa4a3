#!/usr/bin/env node
import { codeOf, messageOf, RdmcError, systemReason } from '@rdmc/common';
import { CommanderError } from 'commander';
import { createProgram } from './program.js';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const EXIT_OUTPUT_CLOSED = 141;

/** Commander has printed an error of the options, or the help. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  process.stderr.write(`error ${codeOf(error) ?? ''}: ${messageOf(error)}\n`);
  return error instanceof RdmcError && error.category === 'usage' ? EXIT_USAGE : EXIT_FAILED;
}

// `rdmc-paramserver | head` ends as other tools do when their reader has ended; its members end with it.
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
