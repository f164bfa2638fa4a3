#!/usr/bin/env node
import { systemReason } from '@rdmc/common';
import { createProgram } from './program.js';

const EXIT_FAILED = 1;
const EXIT_OUTPUT_CLOSED = 141;

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
  const { code, message } = error as { code?: string; message: string };
  process.stderr.write(`error ${code ?? ''}: ${message}\n`);
  process.exitCode = EXIT_FAILED;
}
