import { PostResult } from './constants.js';
import { PostError, type VerbsErrorCode } from './errors.js';

/** Reasons of a device for refusing a work request at posting. */
export interface Refusal {
  /** A stable code. */
  readonly code: VerbsErrorCode;
  /** The same for people; it may change. */
  readonly reason: string;
}

const REFUSALS: Record<number, readonly [code: VerbsErrorCode, reason: string]> = {
  [PostResult.UNKNOWN_QUEUE_PAIR]: [
    'ERR_RDMC_QUEUE_PAIR_CLOSED',
    'the queue pair does not exist or is closed',
  ],
  [PostResult.WRONG_STATE]: ['ERR_RDMC_QUEUE_PAIR_STATE', 'the queue pair is not connected yet'],
  [PostResult.QUEUE_FULL]: [
    'ERR_RDMC_QUEUE_FULL',
    'the queue is full: poll completions first, or make it deeper',
  ],
  [PostResult.TOO_MANY_SGES]: [
    'ERR_RDMC_TOO_MANY_SGES',
    'more scatter/gather entries than `attributes.maxSge`',
  ],
  [PostResult.INVALID_LKEY]: [
    'ERR_RDMC_INVALID_LKEY',
    'an lkey is not that of a region of the queue pair’s protection domain',
  ],
  [PostResult.OUT_OF_BOUNDS]: ['ERR_RDMC_OUT_OF_BOUNDS', 'an entry reaches beyond its region'],
  [PostResult.INLINE_TOO_LONG]: [
    'ERR_RDMC_INLINE_TOO_LONG',
    'more inline bytes than `attributes.maxInlineBytes`',
  ],
  [PostResult.UNKNOWN_OPCODE]: ['ERR_RDMC_UNKNOWN_OPCODE', 'the operation does not exist'],
  [PostResult.MISALIGNED_ATOMIC]: ['ERR_RDMC_MISALIGNED_ATOMIC', 'atomics work on 8 aligned bytes'],
  [PostResult.NOT_SHAREABLE]: [
    'ERR_RDMC_NOT_SHAREABLE',
    'peers cannot map memory given to register(); receive into memory from allocate()',
  ],
  [PostResult.ACCESS_DENIED]: ['ERR_RDMC_ACCESS_DENIED', 'the region does not allow this use'],
  [PostResult.DEVICE_REFUSED]: ['ERR_RDMC_POST_FAILED', 'the device’s driver refused it'],
  [PostResult.DEVICE_REMOVED]: ['ERR_RDMC_DEVICE_REMOVED', 'the device was removed: close it'],
  [PostResult.UNSUPPORTED_OPERATION]: ['ERR_RDMC_UNSUPPORTED', 'the device does not support the operation'],
  [PostResult.TOO_MANY_WAITS]: [
    'ERR_RDMC_TOO_MANY_WAITS',
    'a request waits for no queue pair, or for more than `Layout.MAX_WAITS`',
  ],
  [PostResult.UNKNOWN_WAIT]: [
    'ERR_RDMC_WAIT_UNKNOWN',
    'it waits for a queue pair that is closed, or is not one of this device',
  ],
  [PostResult.BROKEN_WAIT]: [
    'ERR_RDMC_WAIT_BROKEN',
    'it waits for receives of a queue pair that has failed before them',
  ],
  [PostResult.WAIT_CIRCLE]: [
    'ERR_RDMC_WAIT_CIRCLE',
    'it waits for a receive that only a later request of its own queue pair can cause',
  ],
  [PostResult.MESSAGE_TOO_LONG]: [
    'ERR_RDMC_MESSAGE_TOO_LONG',
    'a message holds at most `attributes.maxMessageBytes`',
  ],
};

/** The meaning of a value of `PostResult`. */
export function refusalOf(result: number): Refusal {
  const [code, reason] = REFUSALS[result] ?? ['ERR_RDMC_POST_FAILED', `refused with code ${result}`];
  return { code, reason };
}

/** The error for a request of a batch that the device refused. */
export function postError(index: number, result: number): PostError {
  const { code, reason } = refusalOf(result);
  return new PostError(code, `Work request ${index} of the batch: ${reason}`, index, result);
}
