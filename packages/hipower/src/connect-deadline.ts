import { setTimeout as delay } from 'node:timers/promises';
import { anySignal } from '@rdmc/common';
import { HiPowerError, messageOf, throwIfAborted } from './errors.js';

/** Whose connecting has a deadline. */
export interface Connecting {
  /** For messages: "Requester 'name'". */
  readonly what: string;
  readonly counterpart: 'requester' | 'responder';
  /** Members that have not answered yet. */
  missing(): number[];
  /** What went wrong last, if anything did. */
  cause?(): unknown;
}

/**
 * Rejects when the time is over or the signal aborts; settles no more once cancelled.
 * @throws HiPowerError ERR_RDMC_HIPOWER_TIMEOUT with `missing`; AbortError
 */
export async function connectDeadline(
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
  connecting: Connecting,
  cancelled: AbortSignal,
): Promise<never> {
  const signals = signal ? anySignal(cancelled, signal) : cancelled;
  await delay(timeoutMs, undefined, { signal: signals }).catch(() => {});
  if (cancelled.aborted) return new Promise(() => {});
  const { what, counterpart } = connecting;
  throwIfAborted(what, signal);
  const missing = connecting.missing();
  const cause = connecting.cause?.();
  const because = cause === undefined ? '' : `; the last attempt failed: ${messageOf(cause)}`;
  throw new HiPowerError(
    'ERR_RDMC_HIPOWER_TIMEOUT',
    `${what}: members ${missing.join(', ')} did not answer within ${timeoutMs} ms; ` +
      `each creates a ${counterpart} for the same channel${because}`,
    { missing, ...(cause !== undefined && { cause }) },
  );
}
