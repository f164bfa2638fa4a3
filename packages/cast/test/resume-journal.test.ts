import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  blocksIn,
  decodeJournal,
  encodeClosed,
  encodeHeader,
  encodeRange,
  JOURNAL_HEADER_BYTES,
  JOURNAL_RECORD_BYTES,
  type Range,
  rangesOf,
} from '../src/resume/journal.js';

const SIZE = 1000;
const facts = { identity: Buffer.alloc(32, 7), size: SIZE, authenticated: true };
const closed = { inode: 5n, size: 900n, mtimeNs: -1_500_000_000n, ctimeNs: 1_700_000_000_123_456_789n };

const someRange = fc
  .tuple(fc.nat(SIZE - 1), fc.nat(SIZE - 1))
  .map(([a, b]): Range => ({ start: Math.min(a, b), end: Math.max(a, b) + 1 }));
const someRanges = fc.array(someRange, { maxLength: 12 });

function journalOf(ranges: readonly Range[], isClosed = false): Buffer {
  const header = encodeHeader(facts);
  const records = ranges.map((range, number) => encodeRange(header, number, range));
  return Buffer.concat([
    header,
    ...records,
    ...(isClosed ? [encodeClosed(header, ranges.length, closed)] : []),
  ]);
}

/** Bytes that are in one of the ranges. */
function bytesIn(ranges: readonly Range[]): boolean[] {
  return Array.from({ length: SIZE }, (_, at) => ranges.some(({ start, end }) => at >= start && at < end));
}

describe('a journal', () => {
  it('gives its ranges back, united and in order, and what the file was when it was closed', () => {
    fc.assert(
      fc.property(someRanges, fc.boolean(), (ranges, isClosed) => {
        const found = decodeJournal(journalOf(ranges, isClosed))!;
        expect(found).toMatchObject(facts);
        expect(found.closed).toEqual(isClosed ? closed : undefined);
        expect(bytesIn(found.ranges)).toEqual(bytesIn(ranges));
        for (const [at, { start, end }] of found.ranges.entries()) {
          expect(start).toBeLessThan(end);
          if (at > 0) expect(start).toBeGreaterThan(found.ranges[at - 1]!.end);
        }
      }),
    );
  });

  it('that was cut off has the ranges of its whole records, and is not closed', () => {
    fc.assert(
      fc.property(someRanges, fc.nat(), (ranges, cut) => {
        const whole = journalOf(ranges, true);
        const bytes = whole.subarray(0, cut % whole.length);
        const found = decodeJournal(bytes);
        if (bytes.length < JOURNAL_HEADER_BYTES) expect(found).toBeUndefined();
        else {
          const records = Math.floor((bytes.length - JOURNAL_HEADER_BYTES) / JOURNAL_RECORD_BYTES);
          expect(found!.closed).toBeUndefined();
          expect(bytesIn(found!.ranges)).toEqual(bytesIn(ranges.slice(0, records)));
        }
      }),
    );
  });

  it('with a damaged byte ends before the record of that byte', () => {
    fc.assert(
      fc.property(someRanges, fc.nat(), fc.integer({ min: 1, max: 255 }), (ranges, at, change) => {
        const bytes = journalOf(ranges, true);
        const place = at % bytes.length;
        bytes[place]! ^= change;
        const found = decodeJournal(bytes);
        if (place < JOURNAL_HEADER_BYTES) expect(found).toBeUndefined();
        else {
          const record = Math.floor((place - JOURNAL_HEADER_BYTES) / JOURNAL_RECORD_BYTES);
          expect(bytesIn(found!.ranges)).toEqual(bytesIn(ranges.slice(0, record)));
          expect(found!.closed).toBeUndefined();
        }
      }),
    );
  });

  it('takes no record of another journal, out of order, or of a range that cannot be', () => {
    const header = encodeHeader(facts);
    const other = encodeHeader({ ...facts, identity: Buffer.alloc(32, 8) });
    const range = { start: 0, end: 10 };
    const rangesAfter = (record: Buffer) => decodeJournal(Buffer.concat([header, record]))!.ranges;
    expect(rangesAfter(encodeRange(header, 0, range))).toEqual([range]);
    expect(rangesAfter(encodeRange(other, 0, range))).toEqual([]);
    expect(rangesAfter(encodeRange(header, 1, range))).toEqual([]);
    expect(rangesAfter(encodeRange(header, 0, { start: 10, end: 10 }))).toEqual([]);
    expect(rangesAfter(encodeRange(header, 0, { start: 10, end: SIZE + 1 }))).toEqual([]);
  });

  it('of a file that was opened again is not closed', () => {
    const header = encodeHeader(facts);
    const records = [encodeClosed(header, 0, closed), encodeRange(header, 1, { start: 0, end: 1 })];
    expect(decodeJournal(Buffer.concat([header, ...records]))!.closed).toBeUndefined();
  });
});

describe('blocks of ranges', () => {
  const blockBytes = 64;

  it('are those that lie in one range as a whole; the last one may be shorter', () => {
    fc.assert(
      fc.property(someRanges, (ranges) => {
        const { ranges: united } = decodeJournal(journalOf(ranges))!;
        const blocks = blocksIn(united, SIZE, blockBytes);
        const isIn = bytesIn(ranges);
        for (let block = 0; block < blocks.blocks; block += 1) {
          const bytes = isIn.slice(block * blockBytes, (block + 1) * blockBytes);
          expect(blocks.has(block)).toBe(bytes.every(Boolean));
        }
        expect(blocksIn(rangesOf(blocks, SIZE, blockBytes), SIZE, blockBytes)).toEqual(blocks);
      }),
    );
  });
});
