#!/usr/bin/env node
import { createProgram } from './cli/program.js';
import { codeOf, messageOf } from './errors.js';

/** Prints a line for people, or sends an event to a parent process of this package. */
function tell(line: string, event: object): void {
  if (process.send && process.connected) process.send(event);
  else process.stdout.write(`${line}\n`);
}

// The parent process has ended, and its cluster ends with it.
if (process.send) process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));

try {
  await createProgram(tell).parseAsync();
} catch (error) {
  process.stderr.write(`error ${codeOf(error)}: ${messageOf(error)}\n`);
  process.exitCode = 1;
  if (process.connected) process.disconnect();
}
