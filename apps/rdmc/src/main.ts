#!/usr/bin/env node
import { runCommandLine } from './command-line.js';
import { outputClosed } from './interrupt.js';
import { createTerminal } from './ui/terminal.js';

const LINGER_MS = 3000;

// `rdmc schedule | head` ends as other tools do whose reader has closed the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  outputClosed();
});
process.exitCode = await runCommandLine(process.argv, createTerminal());
// Everything is closed by now. If a defect leaves something open, the process ends all the same.
setTimeout(() => process.exit(), LINGER_MS).unref();
