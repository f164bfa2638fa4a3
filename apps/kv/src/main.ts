#!/usr/bin/env node
import { createProgram } from './cli/program.js';
import { codeOf, messageOf } from './errors.js';

/** Prints a line for people, or sends an event to a parent process of this package. */
function tell(line: string, event: object): void {
  if (process.send && process.connected) process.send(event);
  else process.stdout.write(`${line}\n`);
}

// The parent process has ended, and its cluster ends with it.
const endWithParent = () => process.kill(process.pid, 'SIGTERM');
if (process.send) process.on('disconnect', endWithParent);

try {
  await createProgram(tell).parseAsync();
} catch (error) {
  process.stderr.write(`error ${codeOf(error)}: ${messageOf(error)}\n`);
  process.exitCode = 1;
  // A signal would make the exit code 0.
  process.off('disconnect', endWithParent);
  if (process.connected) process.disconnect();
}
