import { type EntryLocation, EntryType, encodeObject, type LogCleaner } from '@rdmc/tailwind';
import { expect, it } from 'vitest';
import { EntryList } from '../src/log/append-content.js';
import type { Segment } from '../src/log/segment.js';
import { SegmentContents } from '../src/log/segment-contents.js';
import type { SegmentTable } from '../src/log/segment-table.js';
import { SurvivorWriter } from '../src/log/survivor-writer.js';

function segment(id: bigint): Segment {
  const contents = new SegmentContents(new Uint8Array(8192), { logId: 1n, segmentId: id, incarnation: 1 });
  const nothing = (): void => {};
  const done = Promise.resolve();
  return {
    id,
    contents,
    writtenAt: 0,
    close: nothing,
    send: nothing,
    openSurvivor: () => done,
    closed: done,
  } as never;
}

it('announces an object that became live again before its original is freed, and none twice', async () => {
  const from = segment(1n);
  const offsets = ['a', 'b', 'c'].map((key) => {
    const parts = encodeObject(1, Buffer.from(key), Buffer.from('value'));
    return from.contents.place(new EntryList([{ type: EntryType.OBJECT, parts }]))![0]!;
  });
  const [, b, c] = offsets;
  // `b` and `c` are superseded by waiting appends; that of `b` will fail.
  const dead = new Set([b, c]);
  const moved: [EntryLocation, EntryLocation][] = [];
  const cleaner: LogCleaner = {
    isLive: (_, { offset }) => !dead.has(offset),
    moved: (_, before, after) => moved.push([before, after]),
  };
  const survivor = segment(2n);
  const table = { make: async () => survivor } as unknown as SegmentTable;
  const writer = new SurvivorWriter(table, cleaner, new AbortController().signal);
  await writer.write([{ segment: from, offsets }]);
  await writer.announce();
  expect(moved.map(([{ offset }]) => offset)).toEqual([offsets[0]]);
  const live = survivor.contents.liveBytes;
  dead.delete(b);
  await writer.announceAgain();
  await writer.announceAgain();
  expect(moved.map(([{ offset }]) => offset)).toEqual([offsets[0], b]);
  expect(survivor.contents.at(moved[1]![1].offset)!.payload).toEqual(from.contents.at(b!)!.payload);
  expect(survivor.contents.liveBytes).toBeGreaterThan(live);
});
