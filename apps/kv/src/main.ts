#!/usr/bin/env node
import { createProgram } from './cli/program.js';
import { outputOf } from './cli/tell.js';
import { codeOf, messageOf } from './errors.js';

const EXIT_PLANNED = 0;

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

try {
  await createProgram(outputOf(process)).parseAsync();
} catch (error) {
  process.stderr.write(`error ${codeOf(error)}: ${messageOf(error)}\n`);
  process.exitCode = 1;
  // A signal would make the exit code 0.
  process.off('disconnect', endWithParent);
  if (process.connected) process.disconnect();
}
