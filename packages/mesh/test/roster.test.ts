import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareClaims, nextIncarnation } from '../src/live/claim.js';
import { decodeRoster, encodeRoster } from '../src/live/frames.js';
import { Roster, type RosterDelta, type RosterEntry } from '../src/live/roster.js';

const LIMITS = { members: 64, marks: 64 };

function entryOf(id: number, incarnation: number, twin = 0): RosterEntry {
  const instance = `${incarnation}${twin}`.padStart(32, '0');
  return {
    id,
    incarnation,
    instance,
    host: `host-${id}`,
    port: 7000 + incarnation,
    process: { host: 'h', pid: 1 },
  };
}

const entry = fc
  .tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 1 }))
  .map(([id, incarnation, twin]) => entryOf(id, incarnation, twin));
const mark = fc.record({ id: fc.integer({ min: 0, max: 4 }), incarnation: fc.integer({ min: 1, max: 4 }) });
type Change = { readonly entry: RosterEntry } | { readonly mark: { id: number; incarnation: number } };
const change: fc.Arbitrary<Change> = fc.oneof(
  entry.map((each) => ({ entry: each })),
  mark.map((each) => ({ mark: each })),
);

function rosterOf(changes: readonly Change[]): Roster {
  const roster = new Roster(LIMITS);
  for (const each of changes) {
    if ('entry' in each) roster.offer(each.entry);
    else roster.retire(each.mark);
  }
  return roster;
}

function merge(roster: Roster, { entries, marks }: RosterDelta): void {
  for (const each of marks) roster.retire(each);
  for (const each of entries) roster.offer(each);
}

const sorted = (roster: Roster) => [...roster.entries.values()].sort((one, other) => one.id - other.id);

describe('a roster', () => {
  it('is the same whatever the order in which changes come, and how often', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), fc.infiniteStream(fc.nat()), (changes, order) => {
        const shuffled = [...changes, ...changes]
          .map((each) => ({ each, at: order.next().value as number }))
          .sort((one, other) => one.at - other.at)
          .map(({ each }) => each);
        const [one, other] = [rosterOf(changes), rosterOf(shuffled)];
        expect(sorted(other)).toEqual(sorted(one));
        expect(other.digest.equals(one.digest)).toBe(true);
      }),
    );
  });

  it('and another one are equal after one exchange of what the other side misses', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 8 }), fc.array(change, { maxLength: 8 }), (here, there) => {
        const [one, other] = [rosterOf(here), rosterOf(there)];
        const sent = one.whole();
        const missing = other.missingFrom(sent);
        merge(other, sent);
        merge(one, missing);
        expect(sorted(one)).toEqual(sorted(other));
        expect(one.digest.equals(other.digest)).toBe(true);
      }),
    );
  });

  it('has the same digest exactly where the members are the same', () => {
    const one = rosterOf([{ entry: entryOf(1, 1) }]);
    expect(one.digest.equals(rosterOf([{ entry: entryOf(1, 2) }]).digest)).toBe(false);
    one.offer(entryOf(1, 2));
    expect(one.digest.equals(rosterOf([{ entry: entryOf(1, 2) }]).digest)).toBe(true);
    one.retire({ id: 1, incarnation: 2 });
    expect(one.digest.equals(rosterOf([]).digest)).toBe(true);
  });

  it('tells what has changed since a version', () => {
    const roster = rosterOf([{ entry: entryOf(1, 1) }, { entry: entryOf(2, 1) }]);
    const { version } = roster;
    roster.offer(entryOf(3, 1));
    roster.retire({ id: 1, incarnation: 1 });
    const { entries, marks } = roster.since(version);
    expect(entries).toEqual([entryOf(3, 1)]);
    expect(marks).toEqual([{ id: 1, incarnation: 1 }]);
    expect(roster.since(roster.version)).toEqual({ entries: [], marks: [] });
  });

  it('is bounded: members beyond the limit are not taken, and the oldest marks are forgotten', () => {
    const roster = new Roster({ members: 2, marks: 2 });
    for (const id of [1, 2, 3]) roster.offer(entryOf(id, 1));
    expect([...roster.entries.keys()]).toEqual([1, 2]);
    for (const id of [1, 2, 3]) roster.retire({ id, incarnation: 1 });
    expect(roster.whole().marks.map(({ id }) => id)).toEqual([2, 3]);
  });

  it('arrives as it was sent', () => {
    const news = { entries: [entryOf(1, 3)], marks: [{ id: 2, incarnation: 4 }], lost: [1], isWhole: true };
    expect(decodeRoster(encodeRoster(news).subarray(5))).toEqual(news);
    expect(() => decodeRoster(Buffer.from('{"entries":[[1]],"marks":[],"lost":[],"isWhole":true}'))).toThrow(
      /malformed/,
    );
  });
});

describe('an incarnation', () => {
  it('is higher than the one kept and the one known', () => {
    expect(nextIncarnation(0, 0)).toBe(1);
    expect(nextIncarnation(4, 2)).toBe(5);
    expect(nextIncarnation(2, 4)).toBe(5);
  });

  it('decides between two processes, and else the instance does', () => {
    expect(compareClaims(entryOf(1, 2), entryOf(1, 1))).toBeGreaterThan(0);
    expect(compareClaims(entryOf(1, 2, 0), entryOf(1, 2, 1))).toBeLessThan(0);
    expect(compareClaims(entryOf(1, 2), entryOf(1, 2))).toBe(0);
  });
});
