import type { Limits } from '@rdmc/common';
import { HiPowerError, messageOf } from './errors.js';

/** An end that connects, with a deadline. */
export interface Connecting {
  /** For messages: "Requester 'name'". */
  readonly what: string;
  readonly counterpart: 'requester' | 'responder';
  /** Members that have not answered yet. */
  readonly missing: () => number[];
  /** The last failure, if there was one. */
  readonly cause?: () => unknown;
}

/** When connecting is given up: with ERR_RDMC_HIPOWER_TIMEOUT and `missing`, or an AbortError. */
export function connectLimits(
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
  { what, counterpart, missing, cause }: Connecting,
): Limits {
  const late = (): HiPowerError => {
    const absent = missing();
    const reason = cause?.();
    const because = reason === undefined ? '' : `; the last attempt failed: ${messageOf(reason)}`;
    return new HiPowerError(
      'ERR_RDMC_HIPOWER_TIMEOUT',
      `${what}: members ${absent.join(', ')} did not answer within ${timeoutMs} ms; ` +
        `each must create a ${counterpart} for the same channel${because}`,
      { missing: absent, ...(reason !== undefined && { cause: reason }) },
    );
  };
  return { timeoutMs, signal, what, late };
}
