#!/usr/bin/env node
import { createProgram } from './cli/program.js';
import { codeOf, messageOf } from './errors.js';

/** A line for people; where another process of ours started this one, an event for it instead. */
function tell(line: string, event: object): void {
  if (process.send && process.connected) process.send(event);
  else process.stdout.write(`${line}\n`);
}

// Whoever started this process is gone: so is its cluster.
if (process.send) process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));

try {
  await createProgram(tell).parseAsync();
} catch (error) {
  process.stderr.write(`error ${codeOf(error)}: ${messageOf(error)}\n`);
  process.exitCode = 1;
  if (process.connected) process.disconnect();
}
