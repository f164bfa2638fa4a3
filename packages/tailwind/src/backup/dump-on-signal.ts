import { messageOf } from '../errors.js';
import type { Logger } from '../options.js';
import type { Backup } from './backup.js';

/** Sent at a planned shutdown, and by a power supply that runs out (Tailwind, section 3.2). */
const DUMP_SIGNALS = ['SIGTERM', 'SIGPWR'] as const;

/**
 * Dumps a backup's buffers when the process gets SIGTERM or SIGPWR, and then lets the signal end the process.
 * Returns a function that removes the signal handlers.
 */
export function dumpOnSignals(backup: Backup, logger?: Logger): () => void {
  const remove = (): void => {
    for (const signal of DUMP_SIGNALS) process.removeListener(signal, onSignal);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    backup
      .dump()
      .catch((error: unknown) => logger?.warn?.({ reason: messageOf(error) }, 'the dump is not complete'))
      .finally(() => {
        remove();
        process.kill(process.pid, signal);
      });
  };
  for (const signal of DUMP_SIGNALS) process.on(signal, onSignal);
  return remove;
}
