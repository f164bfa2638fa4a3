import type { CompletionFailure } from '@rdmc/verbs';
import { DEVICE_REMOVED, type Trouble } from '../records.js';
import { ProtocolViolation } from './port.js';

/**
 * The first block of a message could not be copied to its place, for example into memory that only a device can access.
 */
export class CopyFailed extends Error {}

/** Of a neighbour: text to append to its name. */
export const RELAYS_BROKEN = 'its queue pair failed, and with it the relays of its blocks';

/** The trouble that a failed request shows. `isOwn`: one that this member sent. */
export function troubleOf(
  group: number,
  pair: number,
  isOwn: boolean,
  { status, refusal, reason }: CompletionFailure,
): Trouble {
  // In the first two cases this member failed: its device was removed, or refused a request.
  if (status === 'FATAL') return { group, pair: -1, kind: 'device', ...DEVICE_REMOVED };
  if (refusal) return { group, pair: -1, kind: 'post', code: refusal.code, reason };
  return { group, pair, kind: kindOf(isOwn, status), code: 'ERR_RDMC_MEMBER_LOST', reason };
}

/**
 * The trouble behind an error: the neighbour broke the protocol, or this member failed.
 * @param isRelayed the neighbour's device may have sent on what it got
 */
export function troubleOfThrown(group: number, pair: number, error: unknown, isRelayed: boolean): Trouble {
  const { message: reason } = error as Error;
  if (error instanceof ProtocolViolation) {
    return { group, pair, kind: isRelayed ? 'relayed' : 'protocol', code: 'ERR_RDMC_PROTOCOL', reason };
  }
  if (error instanceof CopyFailed) {
    const text = `the processor cannot write to the region: ${reason}`;
    return { group, pair: -1, kind: 'copy', code: 'ERR_RDMC_INCOMING_FAILED', reason: text };
  }
  return { group, pair: -1, kind: 'post', code: 'ERR_RDMC_POST_FAILED', reason };
}

/** The trouble of a member whose device could not write a first block into the region that `incoming` gave. */
export function troubleOfWrite(group: number, { status, reason }: CompletionFailure): Trouble {
  if (status === 'FATAL') return { group, pair: -1, kind: 'device', ...DEVICE_REMOVED };
  const text = `the loop-back WRITE of a first block failed: ${reason}`;
  return { group, pair: -1, kind: 'copy', code: 'ERR_RDMC_INCOMING_FAILED', reason: text };
}

/** If the local device could not send a request, this member failed and not the neighbour. */
function kindOf(isOwn: boolean, status: string): Trouble['kind'] {
  if (status === 'WORK_REQUEST_FLUSHED') return 'flushed';
  return isOwn && status === 'LOCAL_QP_OPERATION_ERROR' ? 'own' : 'queue-pair';
}
