import { EntryType, encodeObject, encodeTombstone, type LogCleaner } from '@rdmc/tailwind';
import { expect, it } from 'vitest';
import { EntryList } from '../src/log/append-content.js';
import { chooseRound } from '../src/log/choose-round.js';
import { type Kept, measure } from '../src/log/cleaning-round.js';
import { KeyFilter } from '../src/log/key-filter.js';
import type { Segment } from '../src/log/segment.js';
import { chooseSegments } from '../src/log/segment-choice.js';
import { SegmentContents } from '../src/log/segment-contents.js';

const NOTHING_LIVES: LogCleaner = { isLive: () => false, moved: () => {} };

function entry(key: string, version: number, deletes?: bigint) {
  const bytes = Buffer.from(key);
  if (deletes === undefined)
    return { type: EntryType.OBJECT, parts: encodeObject(version, bytes, Buffer.from('v')) };
  return { type: EntryType.TOMBSTONE, parts: encodeTombstone(version, deletes, bytes) };
}

/** The properties of a closed segment that the cleaner uses. */
function segment(id: bigint, ...entries: ReturnType<typeof entry>[]): Segment {
  const contents = new SegmentContents(new Uint8Array(8192), { logId: 1n, segmentId: id, incarnation: 1 });
  for (const one of entries) contents.place(new EntryList([one]));
  return { id, contents } as Segment;
}

async function kept(
  segments: Segment[],
  others: Segment[] = [],
  { queued = [], cleaner = NOTHING_LIVES }: { queued?: string[]; cleaner?: LogCleaner } = {},
): Promise<number[]> {
  const rest = new Map(others.map((other) => [other.id, other]));
  const what = { segments, others: rest, staying: [...rest.values()] };
  const found: Kept[] = await measure(what, new Set(queued), cleaner, new AbortController().signal);
  return found.map(({ offsets }) => offsets.length);
}

it('drops dead objects, and keeps the newest object of a key with a waiting append', async () => {
  const segments = [segment(1n, entry('a', 1), entry('b', 2)), segment(2n, entry('a', 3))];
  expect(await kept(segments)).toEqual([0, 0]);
  // Another closed segment that stays has a newer one.
  expect(await kept([segments[0]!], [segments[1]!], { queued: ['a'] })).toEqual([0]);
  expect(await kept(segments, [], { queued: ['a'] })).toEqual([0, 1]);
  expect(segments.map(({ contents }) => contents.liveBytes > 0)).toEqual([false, true]);
});

it('keeps the newest tombstone of a key while an older object of the key may be left', async () => {
  const tombstones = segment(5n, entry('a', 7, 2n), entry('b', 8, 2n), entry('a', 9, 4n));
  // The segment that held the object is gone: only an older version in another one counts.
  expect(await kept([tombstones], [segment(3n, entry('c', 1))])).toEqual([0]);
  expect(await kept([tombstones], [segment(3n, entry('a', 1))])).toEqual([1]);
  expect(await kept([tombstones], [segment(3n, entry('a', 1), entry('b', 2))])).toEqual([2]);
  // It is still in the log: the filters of the keys are not needed.
  expect(await kept([tombstones], [segment(2n, entry('c', 1))])).toEqual([1]);
  // Cleaned together with the object that it deletes.
  expect(await kept([tombstones, segment(2n, entry('b', 6))])).toEqual([0, 0]);
});

it('keeps a tombstone beside an older object of its key that is kept because of a waiting append', async () => {
  // A write of the key waits. If it is lost, a recovery must not find the removed object.
  const segments = [
    segment(2n, entry('a', 6), entry('b', 1)),
    segment(5n, entry('a', 7, 2n), entry('b', 8, 2n)),
  ];
  const cleaner: LogCleaner = {
    ...NOTHING_LIVES,
    followsPlacement: true,
    isLive: ({ payload }) => Buffer.from(payload).includes('a'),
  };
  expect(await kept(segments, [], { cleaner })).toEqual([1, 1]);
  expect(await kept([...segments].reverse(), [], { cleaner })).toEqual([1, 1]);
  expect(await kept(segments, [], { queued: ['a'] })).toEqual([1, 1]);
  // The object is newer.
  const newer = [segment(2n, entry('a', 9)), segment(5n, entry('a', 7, 1n))];
  expect(await kept(newer, [], { cleaner })).toEqual([1, 0]);
});

it('drops a tombstone whose key holds a newer object, unless that one waits for its segment', async () => {
  const tombstones = segment(5n, entry('a', 7, 2n));
  const others = [segment(3n, entry('a', 1))];
  const cleaner = { ...NOTHING_LIVES, needsTombstone: () => false };
  expect(await kept([tombstones], others, { cleaner })).toEqual([0]);
  expect(await kept([tombstones], others, { cleaner, queued: ['a'] })).toEqual([1]);
});

it('cleans segments together whose tombstones keep each other from being cleaned alone', async () => {
  // Without the third, the tombstone of a is needed; without the first, that of b; without the second, that of c.
  const segments = [
    segment(7n, entry('a', 7, 2n), entry('b', 1)),
    segment(8n, entry('b', 8, 2n), entry('c', 2)),
    segment(9n, entry('a', 3), entry('live', 4)),
    segment(10n, entry('c', 9, 2n)),
  ];
  const cleaner: LogCleaner = {
    isLive: ({ payload }) => Buffer.from(payload).includes('live'),
    moved: () => {},
  };
  const measured: string[] = [];
  const rules = {
    measure: (some: readonly Segment[]) => {
      measured.push(some.map(({ id }) => id).join());
      const others = new Map(segments.filter((one) => !some.includes(one)).map((one) => [one.id, one]));
      return measure(
        { segments: some, others, staying: [] },
        new Set(),
        cleaner,
        new AbortController().signal,
      );
    },
    choose: (some: readonly Segment[]) => {
      const candidates = some.map((one) => ({ one, liveBytes: one.contents.liveBytes, ageMs: 1 }));
      return chooseSegments(candidates, 1000, 2).map(({ one }) => one);
    },
    survivorBytes: 1000,
    survivors: 2,
  };
  const settled = await chooseRound(segments, rules);
  // It was tried with fewer and fewer segments, which frees none.
  expect(measured.map((ids) => ids.split(',').length)).toEqual([4, 3, 2, 1, 4]);
  expect(settled.map(({ segment: { id }, offsets }) => [id, offsets.length])).toEqual([
    [7n, 0],
    [8n, 0],
    [9n, 1],
    [10n, 0],
  ]);
  // A round needs memory for a survivor.
  const full = { ...rules, survivors: 0 };
  expect(await chooseRound(segments, full)).toEqual([]);
});

it('a filter holds all of its keys, and few others', () => {
  const filter = new KeyFilter(1000, 5);
  const key = (number: number): Uint8Array => Buffer.from(`key ${number}`);
  for (let number = 0; number < 1000; number += 1) filter.add(key(number));
  let wrong = 0;
  for (let number = 0; number < 11_000; number += 1) {
    if (number < 1000) expect(filter.mayHold(key(number))).toBe(true);
    else if (filter.mayHold(key(number))) wrong += 1;
  }
  expect(wrong).toBeLessThan(100);
});

it('chooses by benefit and cost, and nothing when no segment would be freed', () => {
  const old = { liveBytes: 800, ageMs: 100_000, name: 'old' };
  const young = { liveBytes: 500, ageMs: 10, name: 'young' };
  const empty = { liveBytes: 0, ageMs: 1, name: 'empty' };
  const names = (chosen: { name: string }[]) => chosen.map(({ name }) => name).sort();
  expect(names(chooseSegments([old, young, empty], 1000, 0))).toEqual(['empty']);
  // There is room for one of them: the old one, although it is fuller.
  expect(names(chooseSegments([young, old, { ...old, liveBytes: 150 }], 1000, 1))).toEqual(['old', 'old']);
  expect(chooseSegments([old, { ...old, liveBytes: 900 }], 1000, 2)).toEqual([]);
  expect(chooseSegments([], 1000, 2)).toEqual([]);
});
