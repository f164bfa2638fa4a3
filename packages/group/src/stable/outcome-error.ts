import { GroupError, type GroupErrorDetails } from '../errors.js';
import type { Verdict } from '../wire-messages.js';
import { has } from './ranks.js';
import type { StableEnd } from './stable-delivery.js';
import type { Row } from './survivor-rules.js';

/** What the error of a group with stable delivery is about. */
export interface FailedGroup {
  readonly id: number;
  readonly members: readonly number[];
  readonly ownId: number;
  /** Messages that were delivered here. */
  readonly delivered: number;
}

/** The error with which a group with stable delivery ends after the failure of a member. */
export function errorOfOutcome(
  group: FailedGroup,
  end: StableEnd,
  row: Row,
  { culprit, code, reason }: Verdict,
): GroupError {
  if (end === 'agreed') return agreed(group, row, { culprit, code, reason });
  const { id, members, ownId, delivered } = group;
  const [root] = members;
  const left = members.filter((_, rank) => !has(row.suspected, rank));
  const why =
    end === 'excluded'
      ? `the other members go on without this member (${ownId})`
      : `members ${left.join(', ')} are not a majority of all ${members.length}`;
  const text =
    `Group ${id}: ${why}: ${reason}. This member delivered the ${delivered} messages that it knew all members to have; ` +
    'others may have more. Ask them before you go on';
  return new GroupError('ERR_RDMC_GROUP_MINORITY', text, {
    memberId: culprit,
    reason,
    delivered: new Map(ownId === root ? [] : [[ownId, delivered]]),
  });
}

function agreed({ id, members }: FailedGroup, row: Row, { culprit, code, reason }: Verdict): GroupError {
  const excluded = members.filter((_, rank) => has(row.excluded, rank));
  const survivors = members.filter((_, rank) => !has(row.excluded, rank));
  const receivers = survivors.filter((member) => member !== members[0]);
  // Another member's verdict may be about a member that survived.
  const memberId = excluded.includes(culprit) || excluded.length === 0 ? culprit : excluded[0]!;
  const details: GroupErrorDetails = {
    memberId,
    reason,
    excluded,
    delivered: new Map(receivers.toSorted((one, other) => one - other).map((member) => [member, row.trim])),
  };
  const what = `All survivors have delivered the same ${row.trim} messages; create a new group of ${survivors.join(', ')}`;
  if (code === 'ERR_RDMC_PROTOCOL') {
    return new GroupError(
      code,
      `Group ${id}: member ${memberId} broke the protocol: ${reason}. ${what}`,
      details,
    );
  }
  const lost = excluded.length > 1 ? `members ${excluded.join(', ')}` : `member ${memberId}`;
  return new GroupError('ERR_RDMC_MEMBER_LOST', `Group ${id} lost ${lost}: ${reason}. ${what}`, details);
}
