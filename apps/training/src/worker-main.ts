/** The process of a worker. Its parent, the trainer's process, tells it where it belongs. */
import { rmSync } from 'node:fs';
import { codeOf, messageOf } from '@rdmc/common';
import type { Place } from './settings.js';
import { work } from './worker.js';

let directory: string | undefined;

/** The parent is gone, or has let go: so is the run. What a parent that was killed could not remove is removed here. */
function end(code: number): void {
  try {
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  } catch {
    // Another worker removes it at this moment.
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
      // Its loss is heard after its reason.
      process.send!(failed, () => process.exit(1));
    },
  );
});
// The parent may have gone before there was somebody to hear it.
if (!process.connected) end(0);
