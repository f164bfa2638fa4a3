#!/usr/bin/env node
import { createProgram } from './program.js';

// `rdmc-paramserver | head` ends as other tools do when their reader has ended; its members end with it.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(141);
});
try {
  await createProgram((line) => process.stdout.write(`${line}\n`)).parseAsync();
} catch (error) {
  const { code, message } = error as { code?: string; message: string };
  process.stderr.write(`error ${code ?? ''}: ${message}\n`);
  process.exitCode = 1;
}
