import { GroupError, type GroupErrorDetails } from '../errors.js';
import type { SenderOrder } from '../many/senders.js';
import type { Verdict } from '../wire-messages.js';
import { has } from './ranks.js';
import type { StableEnd } from './stable-delivery.js';
import type { Row } from './survivor-rules.js';

/** What the error of a group with stable delivery is about. */
export interface FailedGroup {
  readonly id: number;
  readonly members: readonly number[];
  /** Of a group of many senders. */
  readonly senders: readonly number[] | undefined;
  readonly order: SenderOrder;
  readonly ownId: number;
  /** This member delivers messages. */
  readonly receives: boolean;
  /** Messages that were delivered here. */
  readonly delivered: number;
  /** By sender, in a group of many. */
  readonly deliveredFrom: readonly number[] | undefined;
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
    delivered: new Map(group.receives ? [[ownId, delivered]] : []),
    ...deliveredFrom(group, [ownId]),
  });
}

function agreed(group: FailedGroup, row: Row, { culprit, code, reason }: Verdict): GroupError {
  const { id, members, senders } = group;
  const excluded = members.filter((_, rank) => has(row.excluded, rank));
  const survivors = members.filter((_, rank) => !has(row.excluded, rank));
  const receivers = survivors.filter((member) => senders || member !== members[0]).toSorted((a, b) => a - b);
  // Another member's verdict may be about a member that survived.
  const memberId = excluded.includes(culprit) || excluded.length === 0 ? culprit : excluded[0]!;
  const details: GroupErrorDetails = {
    memberId,
    reason,
    excluded,
    delivered: new Map(receivers.map((member) => [member, deliveredBy(group, row, member)])),
    ...deliveredFrom(group, receivers, row),
  };
  const same =
    senders && group.order === 'sender' ? 'the same messages' : `the same ${countOf(group, row)} messages`;
  const what = `All survivors have delivered ${same}; create a new group of ${survivors.join(', ')}`;
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

/** Messages that every survivor has delivered, where all deliver the same. */
function countOf({ senders, delivered }: FailedGroup, { trim }: Row): number {
  return senders ? delivered : trim[0]!;
}

/** Messages of each sender that a survivor has delivered. In the order 'total', numbers that were skipped are not messages. */
function countsOf({ order, deliveredFrom }: FailedGroup, { trim }: Row): readonly number[] {
  return order === 'total' ? deliveredFrom! : trim;
}

function deliveredBy(group: FailedGroup, row: Row, member: number): number {
  const { senders, order } = group;
  if (!senders || order === 'total') return countOf(group, row);
  const counts = countsOf(group, row).filter((_, index) => senders[index] !== member);
  return counts.reduce((sum, count) => sum + count, 0);
}

function deliveredFrom(
  group: FailedGroup,
  receivers: readonly number[],
  row?: Row,
): Pick<GroupErrorDetails, 'deliveredFrom'> {
  const { senders, order } = group;
  if (!senders) return {};
  const counts = row ? countsOf(group, row) : group.deliveredFrom!;
  const all = senders.map((sender, index) => [sender, counts[index]!] as const);
  const ofReceiver = (member: number) => all.filter(([sender]) => order === 'total' || sender !== member);
  return { deliveredFrom: new Map(receivers.map((member) => [member, new Map(ofReceiver(member))])) };
}
