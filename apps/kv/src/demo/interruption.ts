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

/** The end of work that was interrupted. */
class Interruption {
  readonly #controller = new AbortController();
  readonly #interrupted = new Deferred<never>();

  /** Aborted with the Interrupted. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Rejects with the Interrupted. */
  get promise(): Promise<never> {
    return this.#interrupted.promise;
  }

  begin(reason: string, exitCode: number): void {
    const error = new Interrupted(reason, exitCode);
    this.#controller.abort(error);
    this.#interrupted.reject(error);
  }
}

/** Of the work in progress. */
let current: Interruption | undefined;

/** The reader of standard output has closed it, as in `kv demo | head`: ends the work in progress, or else the process. */
export function outputClosed(): void {
  if (!current) process.exit(EXIT_OUTPUT_CLOSED);
  current.begin('the reader of the output closed it', EXIT_OUTPUT_CLOSED);
}

/**
 * Runs work that a signal interrupts, so that the caller can remove what the work has made. A second signal ends the process at once.
 * @param work must not start a process when its signal is aborted: the caller has ended the others by then
 * @throws Interrupted while `work` may still run
 */
export async function interruptible<T>(work: (ended: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new Interruption();
  current = interruption;
  const onSignal = (signal: NodeJS.Signals): void =>
    interruption.begin(`interrupted by ${signal}`, EXIT_CODES[signal as keyof typeof EXIT_CODES]);
  for (const signal of Object.keys(EXIT_CODES)) process.on(signal, onSignal);
  try {
    return await Promise.race([work(interruption.signal), interruption.promise]);
  } finally {
    current = undefined;
    for (const signal of Object.keys(EXIT_CODES)) process.off(signal, onSignal);
  }
}
