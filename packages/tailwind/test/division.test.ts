import { planShares, planSources, workOf } from '@rdmc/tailwind/format';
import { Random } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { SegmentWriter } from '../src/format/segment-writer.js';
import { divide } from '../src/scanner/divide.js';

const SLOTS = 16_384;
const MIB = 1024 * 1024;

/** Segments of 8 MiB and a shorter head, each with replicas at three of the members. */
function segmentsOf(count: number, members: readonly number[], random: Random) {
  return Array.from({ length: count }, (_, index) => {
    const candidates = [...members].sort(() => random.below(3) - 1).slice(0, Math.min(3, members.length));
    const floorBytes = index === count - 1 ? 3 * MIB : 8 * MIB;
    return { segmentId: BigInt(index + 1), candidates, floorBytes, checksum: 7 };
  });
}

describe('shares of a recovery', () => {
  it.each([2, 3, 4, 5, 8, 10])(
    '%d members handle about as much each, and every segment has one source',
    (n) => {
      const random = new Random(n);
      const members = Array.from({ length: n }, (_, index) => index + 1);
      const slots = Array.from({ length: SLOTS / 4 }, (_, index) => 100 + index);
      const segments = planSources({ segments: segmentsOf(6 * n, members, random) });
      const shares = planShares(slots, members).map(({ heir, slots: part }) => {
        return { member: heir, ranges: [[part[0]!, part.at(-1)!]] as [number, number][] };
      });
      const work = workOf(segments, shares);
      const all = [...work.values()].map(({ scanned, pulled }) => scanned + pulled);
      const mean = all.reduce((sum, bytes) => sum + bytes, 0) / n;
      expect(Math.max(...all)).toBeLessThan(1.3 * mean);
      expect(all.length).toBe(n);
      expect(shares.flatMap(({ ranges }) => ranges.map(([from, to]) => to - from + 1))).toEqual(
        expect.arrayContaining([Math.floor(slots.length / n)]),
      );
      for (const { sources } of segments) expect(sources.length).toBe(Math.min(3, n));
    },
  );

  it('heirs without a slot are left out, and a segment without a replica has no source', () => {
    expect(planShares([5], ['a', 'b', 'c']).map(({ heir }) => heir)).toEqual(['c']);
    const lost = { segmentId: 1n, candidates: [], floorBytes: 8, checksum: 1 };
    expect(planSources({ segments: [lost] })).toEqual([
      { segmentId: 1n, byteLength: 8, checksum: 1, sources: [] },
    ]);
  });
});

it('each entry is in the part of its slot, in the order of the segment, and those of nobody in none', () => {
  const bytes = new Uint8Array(2 * 4096);
  const writer = new SegmentWriter(bytes.subarray(0, 4096), { logId: 1n, segmentId: 1n, incarnation: 1 });
  // Slots 0 to 4 by the first byte of each payload; slot 4 is nobody's.
  for (let number = 0; number < 50; number += 1) {
    writer.append(number % 7 === 0 ? 3 : 2, Uint8Array.of(number % 5, number));
    if (number % 10 === 9) writer.seal();
  }
  const partOfSlot = new SharedArrayBuffer(10);
  new Int16Array(partOfSlot).set([1, 0, 1, 2, -1]);
  const how = { divider: '', partOfSlot, parts: 4, byteLength: writer.sealedBytes };
  const lengths = divide(bytes, 4096, how, (_, memory, start) => memory[start]!);
  expect(lengths).toEqual([10 * 14, 20 * 14, 10 * 14, 0]);
  const numbers = Array.from({ length: 40 }, (_, index) => bytes[4096 + index * 14 + 13]!);
  const ofSlots = (...slots: number[]) =>
    Array.from({ length: 50 }, (_, k) => k).filter((k) => slots.includes(k % 5));
  expect(numbers).toEqual([...ofSlots(1), ...ofSlots(0, 2), ...ofSlots(3)]);
});
