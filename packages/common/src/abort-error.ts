import { errorTable, RdmcError } from './rdmc-error.js';

/** The error of calls that a signal has ended. */
export const abortErrors = errorTable({
  ERR_RDMC_ABORTED: ['aborted', 'the signal of the call ended it', 'nothing to do: the caller ended it'],
});

/**
 * The caller's signal ended a call. Named as the platform names it, so that `error.name === 'AbortError'` tells it; `cause` is
 * the signal's reason.
 */
export class AbortError extends RdmcError<'ERR_RDMC_ABORTED'> {
  override readonly name = 'AbortError';

  /** @param what the subject of the message: `The send` */
  constructor(
    what: string,
    signal: AbortSignal,
    /** Resolves when the device has let go of memory that the call still uses. */
    readonly settled?: Promise<void>,
  ) {
    super('ERR_RDMC_ABORTED', `${what} was aborted by its signal`, { cause: signal.reason });
  }
}

/** @throws AbortError when the signal is aborted */
export function throwIfAborted(what: string, signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new AbortError(what, signal);
}
