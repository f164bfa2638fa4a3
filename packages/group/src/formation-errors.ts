import { GroupError, groupErrors, isCodeOf } from './errors.js';
import type { AbandonMessage, Verdict } from './wire-messages.js';

/**
 * Error codes of another member's creation that apply here too; any other code means that that member is unavailable.
 */
const SHARED_CODES: readonly string[] = ['ERR_RDMC_GROUP_TIMEOUT', 'ERR_RDMC_GROUP_MISMATCH'];

/** A member of a group that is being created has left or failed. */
export function memberLostError(group: number, member: number, reason: string): GroupError {
  const message = `Group ${group} cannot be created: member ${member} is lost: ${reason}`;
  return new GroupError('ERR_RDMC_MEMBER_LOST', message, { memberId: member, reason });
}

/** Members that were ready before this one say that they lost it. */
export function lostHereError(group: number, { culprit, reason }: Verdict): GroupError {
  const message = `Group ${group}: the other members lost this member (${culprit}): ${reason}`;
  return new GroupError('ERR_RDMC_MEMBER_LOST', message, { memberId: culprit, reason });
}

/** The queue pairs of a member cannot be connected. */
export function unconnectedError(group: number, member: number, why: string, cause: unknown): GroupError {
  const reason = `its queue pairs cannot be connected: ${why}`;
  const message = `Group ${group}: member ${member}: ${reason}`;
  return new GroupError('ERR_RDMC_MEMBER_LOST', message, { cause, memberId: member, reason });
}

/**
 * @param absent members that have not created the group
 * @param unconnected members that have not reported their connections
 */
export function creationTimeoutError(
  group: number,
  timeoutMs: number,
  absent: readonly number[],
  unconnected: readonly number[],
): GroupError {
  const missing = absent.length > 0 ? absent : unconnected;
  const what = absent.length > 0 ? 'have not created it' : 'have not connected';
  return new GroupError(
    'ERR_RDMC_GROUP_TIMEOUT',
    `Group ${group} was not complete after ${timeoutMs} ms: members ${missing.join(', ')} ${what}; ` +
      'every member must call createGroup with the same id',
    { missing },
  );
}

/** Another member has stopped the creation. */
export function abandonedError(
  group: number,
  from: number,
  { code, reason, missing }: AbandonMessage,
): GroupError {
  return new GroupError(
    SHARED_CODES.includes(code) && isCodeOf(groupErrors, code) ? code : 'ERR_RDMC_MEMBER_LOST',
    `Group ${group}: member ${from} stopped the creation: ${reason}`,
    { memberId: from, reason, ...(missing && { missing }) },
  );
}
