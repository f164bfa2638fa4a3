import { describe, expect, it } from 'vitest';
import type { Delivery } from '../src/group/delivery-log.js';
import { checkGroup } from '../src/group/group-check.js';
import type { Ended, ToldError } from '../src/group/group-messages.js';
import type { GroupRecord, MemberRecord } from '../src/group/group-record.js';

const KILLED = { code: null, signal: 'SIGKILL' } as const;
const ENDED = { code: 0, signal: null } as const;

const CLOSED: Ended = { kind: 'ended', round: 0 };

/** Messages of senders 0 and 1 in turn, numbered by their places. */
function total(count: number): Delivery[] {
  return Array.from({ length: count }, (_, place) => ({
    sender: place % 2,
    index: Math.floor(place / 2),
    number: place,
    isDamaged: false,
  }));
}

/** Messages of one sender, numbered by it. */
function from(sender: number, count: number): Delivery[] {
  return Array.from({ length: count }, (_, index) => ({ sender, index, number: index, isDamaged: false }));
}

function failed(error: ToldError): Ended {
  return { kind: 'ended', round: 0, error, readCode: error.code };
}

function survivor(count: number, excluded = [2], receivers = [0, 1]): Ended {
  const delivered = receivers.map((member) => [member, count] as const);
  return failed({ code: 'ERR_RDMC_MEMBER_LOST', message: '', excluded, delivered });
}

function minority(id: number, count: number): Ended {
  return failed({ code: 'ERR_RDMC_GROUP_MINORITY', message: '', delivered: [[id, count]] });
}

function member(id: number, rest: Partial<MemberRecord>): MemberRecord {
  return { id, deliveries: [], sends: 10, end: CLOSED, exit: ENDED, ...rest };
}

/** Three members in the order 'total'; member 2 was killed. */
function killedOne(changes: Partial<Record<number, Partial<MemberRecord>>> = {}): GroupRecord {
  const members = [
    member(0, { deliveries: total(8), end: survivor(8) }),
    member(1, { deliveries: total(8), end: survivor(8) }),
    member(2, { deliveries: total(5), end: undefined, exit: KILLED }),
  ].map((each) => ({ ...each, ...changes[each.id] }));
  return { members, senders: [0, 1, 2], order: 'total', quorum: 'majority', isCertain: true, mayDie: [2] };
}

/** The messages of the violations of a record. */
function found(record: GroupRecord): string {
  return checkGroup(record)
    .map(({ message }) => message)
    .join('\n');
}

describe('the checker of groups accepts', () => {
  it('survivors with the same sequence, and a prefix at a killed member', () => {
    expect(found(killedOne())).toBe('');
  });

  it('a group that closed, with all messages', () => {
    const deliveries = total(20);
    const members = [0, 1].map((id) => member(id, { deliveries }));
    const record = { members, senders: [0, 1], isCertain: true, mayDie: [], quorum: 'majority' } as const;
    expect(found({ ...record, order: 'total' })).toBe('');
  });

  it('senders that do not get their own messages, in different orders', () => {
    const members = [
      member(0, { deliveries: from(1, 10) }),
      member(1, { deliveries: from(0, 10) }),
      member(2, { deliveries: [...from(1, 10), ...from(0, 10)], sends: 0 }),
    ];
    const record = { members, senders: [0, 1], isCertain: true, mayDie: [], quorum: 'majority' } as const;
    expect(found({ ...record, order: 'sender' })).toBe('');
  });

  it('one sender whose receivers survive it', () => {
    const end = survivor(4, [0], [1, 2]);
    const members = [
      member(0, { end: undefined, exit: KILLED }),
      member(1, { deliveries: from(0, 4), end }),
      member(2, { deliveries: from(0, 4), end }),
    ];
    const record = { members, senders: [0], isCertain: true, mayDie: [0], quorum: 'majority' } as const;
    expect(found({ ...record, order: 'root' })).toBe('');
  });

  it('prefixes of each other where nobody survived', () => {
    const members = [
      member(0, { deliveries: total(4), end: minority(0, 4) }),
      member(1, { deliveries: total(6), end: undefined, exit: KILLED }),
      member(2, { deliveries: total(3), end: undefined, exit: KILLED }),
    ];
    const record = { members, senders: [0, 1], isCertain: true, mayDie: [1, 2], quorum: 'majority' } as const;
    expect(found({ ...record, order: 'total' })).toBe('');
  });
});

describe('the checker of groups finds', () => {
  const swapped = total(8);
  [swapped[6], swapped[7]] = [
    { ...swapped[7]!, number: 6 },
    { ...swapped[6]!, number: 7 },
  ];
  const gap = total(8)
    .filter(({ number }) => number !== 4)
    .map((each, number) => ({ ...each, number }));
  const twice = [...total(5), { ...total(5)[4]!, number: 5 }];
  const damaged = total(8).map((each) => (each.number === 3 ? { ...each, isDamaged: true } : each));
  const foreign = total(8).map((each) => (each.number === 7 ? { ...each, sender: 9 } : each));
  const misnumbered = total(8).map((each) => (each.number === 7 ? { ...each, number: 9 } : each));

  const cases: readonly (readonly [string, GroupRecord, string])[] = [
    [
      'a killed member that delivered what the survivors discard',
      killedOne({ 2: { deliveries: total(9) } }),
      'got 8 messages, and member 2',
    ],
    ['another order', killedOne({ 1: { deliveries: swapped } }), 'at place 6'],
    ['a survivor with less', killedOne({ 1: { deliveries: total(7) } }), 'got 7 messages'],
    [
      'a gap',
      killedOne({ 2: { deliveries: gap } }),
      'got message 3 of member 0, at place 5, instead of message 2',
    ],
    ['a message twice', killedOne({ 2: { deliveries: twice } }), 'instead of message 3'],
    ['other bytes', killedOne({ 2: { deliveries: damaged } }), 'damaged message'],
    ['an unknown sender', killedOne({ 2: { deliveries: foreign } }), 'must not get'],
    ['a message that nobody sent', killedOne({ 0: { sends: 2 } }), 'which was not sent'],
    ['a wrong number', killedOne({ 2: { deliveries: misnumbered } }), 'with the number 9'],
    ['an error with a wrong count', killedOne({ 0: { end: survivor(9) } }), 'says that member 0 delivered 9'],
    ['an error without a survivor', killedOne({ 0: { end: survivor(8, [2], [0]) } }), 'instead of 0, 1'],
    ['different exclusions', killedOne({ 0: { end: survivor(8, [1]) } }), 'excludes'],
    [
      'a survivor that is excluded',
      killedOne({ 0: { end: survivor(8, [0]) } }),
      'is a survivor, and excluded',
    ],
    ['an agreement of a minority', killedOne({ 0: { end: survivor(8, [1, 2]) } }), 'agreed with a minority'],
    ['a minority without a reason', killedOne({ 0: { end: minority(0, 8) } }), 'did not survive'],
    [
      'another error',
      killedOne({ 0: { end: failed({ code: 'ERR_RDMC_PROTOCOL', message: 'bad' }) } }),
      'ended with ERR_RDMC_PROTOCOL',
    ],
    [
      'a group that cannot be created for an unknown reason',
      killedOne({ 0: { end: { ...failed({ code: 'UNKNOWN', message: 'bad' }), isUnformed: true } } }),
      'ended with UNKNOWN',
    ],
    [
      'calls with different errors',
      killedOne({ 0: { end: { ...survivor(8), sendCode: 'ERR_RDMC_GROUP_CLOSED' } } }),
      'but a call with ERR_RDMC_GROUP_CLOSED',
    ],
    ['a group that closed with less', killedOne({ 0: { end: CLOSED } }), 'although close resolved'],
    [
      'a failure without a death',
      killedOne({ 2: { exit: ENDED, end: survivor(5) } }),
      'although nobody died',
    ],
    ['a process that died by itself', killedOne({ 0: { exit: KILLED } }), 'ended by itself with SIGKILL'],
    [
      'a process that failed',
      killedOne({ 0: { exit: { code: 1, signal: null } } }),
      'ended by itself with 1',
    ],
  ];

  it.each(cases)('%s', (_, record, what) => {
    expect(found(record)).toContain(what);
  });
});
