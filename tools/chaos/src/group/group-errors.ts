// What the errors say with which a group ends at its members.
import type { Violation } from '../checker/check.js';
import {
  fateOf,
  type GroupRecord,
  getsFrom,
  isKill,
  isSurvivor,
  type MemberRecord,
  violationOf,
} from './group-record.js';

/** The violations in the errors of all members. */
export function errorsOf(record: GroupRecord): Violation[] {
  return [
    ...record.members.flatMap((member) => [
      ...checkCodes(member),
      ...checkCounts(record, member),
      ...checkCountsBySender(record, member),
    ]),
    ...checkExcluded(record),
    ...(record.isCertain ? checkNoneLost(record) : []),
  ];
}

/** The code is one that the README promises, and all calls end with it. */
function checkCodes(member: MemberRecord): Violation[] {
  if (!member.end) return [];
  const { error, readCode, sendCode } = member.end;
  const isStable = error === undefined || error.code.startsWith('ERR_RDMC_');
  if (error && !(fateOf(member) && isStable))
    return [violationOf(member, `ended with ${error.code}: ${error.message}`)];
  // A send is refused with the code of the end; without a failure nothing is rejected.
  const codes = [readCode, sendCode].filter((code) => code !== undefined);
  const other = codes.find((code) => code !== error?.code);
  return other
    ? [violationOf(member, `closed with ${error?.code ?? 'no error'}, but a call with ${other}`)]
    : [];
}

/** `error.delivered`: at a survivor, of all survivors that receive; else of this member. */
function checkCounts(record: GroupRecord, member: MemberRecord): Violation[] {
  const delivered = member.end?.error?.delivered;
  if (!delivered || !fateOf(member)) return [];
  const named = new Map(delivered);
  const wrong = record.members.flatMap((other) => {
    const count = named.get(other.id);
    // Where a process was killed, its log may end before its deliveries.
    if (count === undefined || !other.end || !isComparable(member, other)) return [];
    const got = other.deliveries.length;
    if (count === got) return [];
    return [
      violationOf(member, `says that member ${other.id} delivered ${count} messages, which delivered ${got}`),
    ];
  });
  const expected = receiversIn(record, member);
  const isSame = expected.length === named.size && expected.every((id) => named.has(id));
  const text = `says what ${[...named.keys()].join(', ')} delivered, instead of ${expected.join(', ')}`;
  return [...wrong, ...(isSame ? [] : [violationOf(member, text)])];
}

/** `error.deliveredFrom`: the same by sender. */
function checkCountsBySender(record: GroupRecord, member: MemberRecord): Violation[] {
  const { deliveredFrom } = member.end?.error ?? {};
  if (!deliveredFrom || !fateOf(member)) return [];
  return deliveredFrom.flatMap(([receiver, counts]) => {
    const other = record.members.find(({ id }) => id === receiver)!;
    if (!other.end || !isComparable(member, other)) return [];
    const wrong = counts.find(([sender, count]) => count !== receivedFrom(other, sender));
    if (!wrong) return [];
    const [sender, count] = wrong;
    const got = receivedFrom(other, sender);
    const what = `says that member ${receiver} got ${count} messages of member ${sender}, which got ${got}`;
    return [violationOf(member, what)];
  });
}

function receivedFrom({ deliveries }: MemberRecord, sender: number): number {
  return deliveries.filter((each) => each.sender === sender).length;
}

/** A survivor that ends without the agreement, because it was harmed then, has a prefix. */
function isComparable(member: MemberRecord, other: MemberRecord): boolean {
  return member === other || isSurvivor(other);
}

/** The members whose deliveries an error counts. */
function receiversIn(record: GroupRecord, member: MemberRecord): readonly number[] {
  const receives = ({ id }: MemberRecord) => record.senders.some((sender) => getsFrom(record, id, sender));
  const { excluded } = member.end!.error!;
  const named =
    fateOf(member) === 'survivor' ? record.members.filter(({ id }) => !excluded!.includes(id)) : [member];
  return named.filter(receives).map(({ id }) => id);
}

/** The survivors have agreed on whom they exclude: themselves not, and not too many. */
function checkExcluded({ members, quorum }: GroupRecord): Violation[] {
  const agreed = members.filter((member) => fateOf(member) === 'survivor');
  const [first] = agreed;
  if (!first) return [];
  const excludedBy = ({ end }: MemberRecord) => end!.error!.excluded!;
  const most = quorum === 'none' ? members.length - 1 : Math.ceil(members.length / 2) - 1;
  return agreed.flatMap((member) => {
    const excluded = excludedBy(member);
    if (excluded.includes(member.id)) return [violationOf(member, 'is a survivor, and excluded')];
    if (excluded.length > most)
      return [violationOf(member, `agreed with a minority: excluded are ${excluded}`)];
    if (excluded.join() === excludedBy(first).join()) return [];
    return [
      violationOf(member, `excludes ${excluded}, but member ${first.id} excludes ${excludedBy(first)}`),
    ];
  });
}

/** Nobody suspects a member that lives, so members are excluded, or in a minority, only because members were killed. */
function checkNoneLost({ members, quorum }: GroupRecord): Violation[] {
  const killed = members.filter(({ exit }) => isKill(exit)).map(({ id }) => id);
  if (killed.length === 0) {
    const open = members.filter((member) => fateOf(member) !== 'closed');
    return open.map((member) =>
      violationOf(member, `did not close, although nobody died: ${errorIn(member)}`),
    );
  }
  const isMajority = quorum === 'none' || members.length - killed.length > members.length / 2;
  return members.flatMap((member) => {
    const wrong = member.end?.error?.excluded?.filter((id) => !killed.includes(id)) ?? [];
    if (wrong.length > 0) return [violationOf(member, `excludes ${wrong}, which lived`)];
    if (!isMajority || isSurvivor(member) || !member.end || !fateOf(member)) return [];
    if (fateOf(member) === 'unformed') return [];
    return [
      violationOf(member, `did not survive, although only ${killed.join(', ')} died: ${errorIn(member)}`),
    ];
  });
}

function errorIn({ end }: MemberRecord): string {
  return end?.error ? `${end.error.code} ${end.error.message}` : 'no error';
}
