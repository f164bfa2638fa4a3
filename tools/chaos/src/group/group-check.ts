/*
 * Checks what the members of a group with stable delivery say. The rules are those of the README of @rdmc/group, sections "Stable
 * delivery" and "Many senders"; nothing here looks into the group.
 *
 *   killed member      a b c                 has delivered a prefix of what the survivors deliver
 *   survivor           a b c d e             all of them deliver the same: in the order 'total' one sequence, else one of each sender
 *   survivor           a b c d e
 *   excluded, minority a b                   a prefix, and an error that says so
 *
 * A sequence has no gap: the messages of each sender come as it has sent them, from its first one on.
 */
import type { Violation } from '../checker/check.js';
import type { Delivery } from './delivery-log.js';
import { errorsOf } from './group-errors.js';
import {
  fateOf,
  type GroupRecord,
  getsFrom,
  isKill,
  isSurvivor,
  type MemberRecord,
  violationOf,
} from './group-record.js';

/** The violations of a run; empty if it is correct. */
export function checkGroup(record: GroupRecord): Violation[] {
  return [
    ...record.members.flatMap((member) => [...checkExit(record, member), ...checkDeliveries(record, member)]),
    ...checkAgreement(record),
    ...checkClosed(record),
    ...errorsOf(record),
  ];
}

/** The group ends at every member that lives, and then its process, unless the plan kills it. */
function checkExit({ mayDie }: GroupRecord, member: MemberRecord): Violation[] {
  const { exit, end, id } = member;
  if (isKill(exit) ? mayDie.includes(id) : exit.code === 0 && end) return [];
  return [violationOf(member, `ended by itself with ${exit.code ?? exit.signal}`)];
}

/** Every delivery is right by itself. What follows a wrong one is wrong as a consequence. */
function checkDeliveries(record: GroupRecord, member: MemberRecord): Violation[] {
  const counts = new Map<number, number>();
  for (const [place, delivery] of member.deliveries.entries()) {
    const count = counts.get(delivery.sender) ?? 0;
    const fault = faultOf(record, member, delivery, { place, count });
    if (fault) return [violationOf(member, fault)];
    counts.set(delivery.sender, count + 1);
  }
  return [];
}

/**
 * What is wrong with the contents, the sender or the number of a delivery, as text.
 * @param at its place among all deliveries of the member, and how many came from the same sender before
 */
function faultOf(
  record: GroupRecord,
  member: MemberRecord,
  { sender, index, number, isDamaged }: Delivery,
  at: { readonly place: number; readonly count: number },
): string | undefined {
  const what = `message ${index} of member ${sender}, at place ${at.place}`;
  const sends = record.members.find(({ id }) => id === sender)?.sends ?? 0;
  if (isDamaged) return `got a damaged message: ${what}`;
  if (!getsFrom(record, member.id, sender)) return `must not get ${what}`;
  if (index !== at.count) return `got ${what}, instead of message ${at.count}`;
  if (index >= sends) return `got ${what}, which was not sent`;
  const expected = record.order === 'total' ? at.place : at.count;
  return number === expected ? undefined : `got ${what}, with the number ${number}`;
}

/** All survivors have delivered the same, and the others a prefix of that. Where nobody survived, one of two has a prefix. */
function checkAgreement(record: GroupRecord): Violation[] {
  const { members } = record;
  const violations: Violation[] = [];
  for (const [index, one] of members.entries()) {
    for (const other of members.slice(index + 1)) {
      const difference = differenceOf(record, one, other);
      if (difference) violations.push({ key: 'agreement', message: difference });
    }
  }
  return violations;
}

/** What two members must not deliver differently, as text. */
function differenceOf(record: GroupRecord, one: MemberRecord, other: MemberRecord): string | undefined {
  for (const [mine, theirs, of] of comparable(record, one, other)) {
    const length = Math.min(mine.length, theirs.length);
    for (let place = 0; place < length; place += 1) {
      if (mine[place]!.sender !== theirs[place]!.sender || mine[place]!.index !== theirs[place]!.index)
        return `member ${one.id} got ${nameOf(mine[place]!)} ${of}at place ${place}, and member ${other.id} ${nameOf(theirs[place]!)}`;
    }
    const lacks = lackOf(one, mine.length, other, theirs.length);
    if (lacks) return `${lacks} ${of}`.trim();
  }
  return undefined;
}

/** The sequences of two members that belong together. */
function comparable(
  record: GroupRecord,
  one: MemberRecord,
  other: MemberRecord,
): (readonly [mine: readonly Delivery[], theirs: readonly Delivery[], of: string])[] {
  if (record.order === 'total') return [[one.deliveries, other.deliveries, '']];
  const both = record.senders.filter((sender) =>
    [one, other].every(({ id }) => getsFrom(record, id, sender)),
  );
  return both.map((sender) => {
    const from = ({ deliveries }: MemberRecord) => deliveries.filter((each) => each.sender === sender);
    return [from(one), from(other), `of member ${sender} `];
  });
}

/** A survivor lacks nothing that another member has delivered. */
function lackOf(one: MemberRecord, mine: number, other: MemberRecord, theirs: number): string | undefined {
  if (mine === theirs) return undefined;
  const [less, few, more, many] = mine < theirs ? [one, mine, other, theirs] : [other, theirs, one, mine];
  if (!isSurvivor(less)) return undefined;
  return `member ${less.id} (${fateOf(less)}) got ${few} messages, and member ${more.id} (${fateOf(more) ?? 'failed'}) ${many}`;
}

function nameOf({ sender, index }: Delivery): string {
  return `message ${index} of member ${sender}`;
}

/** `close` resolves only if every message has reached every member. */
function checkClosed(record: GroupRecord): Violation[] {
  const { members, senders } = record;
  const closed = members.find((member) => fateOf(member) === 'closed');
  if (!closed) return [];
  return members.filter(isSurvivor).flatMap((member) =>
    senders.flatMap((sender) => {
      if (!getsFrom(record, member.id, sender)) return [];
      const { sends } = members.find(({ id }) => id === sender)!;
      const got = member.deliveries.filter((each) => each.sender === sender).length;
      if (got === sends) return [];
      const what = `got ${got} of ${sends} messages of member ${sender}, although close resolved at member ${closed.id}`;
      return [violationOf(member, what)];
    }),
  );
}
