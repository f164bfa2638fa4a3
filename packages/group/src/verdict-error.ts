import { GroupError, type GroupErrorDetails, groupErrors, isCodeOf } from './errors.js';
import type { Verdict } from './wire-messages.js';

/** Codes of failures of this member itself; they stay the code of its error. */
const OWN_CODES: readonly string[] = [
  'ERR_RDMC_POST_FAILED',
  'ERR_RDMC_INCOMING_FAILED',
  'ERR_RDMC_DATAPLANE_DIED',
  'ERR_RDMC_DEVICE_REMOVED',
  'ERR_RDMC_NODE_CLOSED',
  'ERR_RDMC_CLOSE_UNKNOWN',
  'ERR_RDMC_STREAM_DESTROYED',
];

/** The error with which the pending calls of a failed group reject. */
export function errorOfVerdict(
  group: number,
  ownId: number,
  { culprit, code, reason }: Verdict,
  { cause, delivered, deliveredFrom }: Pick<GroupErrorDetails, 'cause' | 'delivered' | 'deliveredFrom'> = {},
): GroupError {
  const details = {
    memberId: culprit,
    reason,
    ...(cause !== undefined && { cause }),
    ...(delivered !== undefined && { delivered }),
    ...(deliveredFrom !== undefined && { deliveredFrom }),
  };
  if (culprit === ownId && OWN_CODES.includes(code) && isCodeOf(groupErrors, code)) {
    return new GroupError(code, `Group ${group} failed at this member: ${reason}`, details);
  }
  if (code === 'ERR_RDMC_PROTOCOL') {
    return new GroupError(code, `Group ${group}: member ${culprit} broke the protocol: ${reason}`, details);
  }
  if (culprit === ownId) {
    const message = `Group ${group}: the other members lost this member (${ownId}): ${reason}`;
    return new GroupError('ERR_RDMC_MEMBER_LOST', message, details);
  }
  return new GroupError(
    'ERR_RDMC_MEMBER_LOST',
    `Group ${group} lost member ${culprit}: ${reason}. Close it, and create a new group of the others`,
    details,
  );
}
