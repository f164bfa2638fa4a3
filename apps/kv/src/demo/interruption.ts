import { Deferred } from '@rdmc/common';
import { KvError } from '../errors.js';

const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
const EXIT_OUTPUT_CLOSED = 141;

/** The user ended the command, or the reader of its output did. */
export class Interrupted extends KvError {
  constructor(
    reason: string,
    readonly exitCode: number,
  ) {
    super('ERR_RDMC_KV_INTERRUPTED', `${reason}; all processes are ended, and their files are removed`);
  }
}

/** The work that can be interrupted. */
let current: Deferred<never> | undefined;

/** The reader of standard output has closed it, as in `kv demo | head`: ends the work in progress, or else the process. */
export function outputClosed(): void {
  if (!current) process.exit(EXIT_OUTPUT_CLOSED);
  current.reject(new Interrupted('the reader of the output closed it', EXIT_OUTPUT_CLOSED));
}

/**
 * Runs work that a signal interrupts, so that the caller can remove what the work has made. A second signal ends the process at once.
 * @throws Interrupted while `work` may still run
 */
export async function interruptible<T>(work: () => Promise<T>): Promise<T> {
  const interrupted = new Deferred<never>();
  current = interrupted;
  const onSignal = (signal: NodeJS.Signals): void => {
    interrupted.reject(
      new Interrupted(`interrupted by ${signal}`, EXIT_CODES[signal as keyof typeof EXIT_CODES]),
    );
  };
  for (const signal of Object.keys(EXIT_CODES)) process.on(signal, onSignal);
  try {
    return await Promise.race([work(), interrupted.promise]);
  } finally {
    current = undefined;
    for (const signal of Object.keys(EXIT_CODES)) process.off(signal, onSignal);
  }
}
