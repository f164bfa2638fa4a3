/** The process of a worker. Its parent, the trainer's process, sends it its place. */
import { rmSync } from 'node:fs';
import { codeOf, messageOf } from '@rdmc/common';
import type { Place } from './settings.js';
import { work } from './worker.js';

let directory: string | undefined;

/** The parent has ended, or has disconnected, and with it the run. Files that a killed parent could not remove are removed here. */
function end(code: number): void {
  try {
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  } catch {
    // Another worker removes it at the same time.
  }
  process.exit(code);
}

// Ctrl-C reaches every process of the terminal; the trainer's ends this one.
process.on('SIGINT', () => {});
process.on('disconnect', () => end(0));
process.on('message', (place: Place) => {
  ({ directory } = place);
  work(place).then(
    () => process.disconnect(),
    (error: unknown) => {
      const failed = { code: codeOf(error) ?? 'ERR_RDMC_TRAINING', message: messageOf(error) };
      // Its loss is reported after its reason.
      process.send!(failed, () => process.exit(1));
    },
  );
});
// The parent may have ended before this listener was added.
if (!process.connected) end(0);
