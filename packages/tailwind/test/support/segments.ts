import { EntryType, encodeObject } from '@rdmc/tailwind';
import { type SegmentIdentity, SegmentWriter } from '@rdmc/tailwind/format';

export const IDENTITY: SegmentIdentity = { logId: 77n, segmentId: 3n, incarnation: 5 };

/** A segment of groups of objects, and where each group ends. */
export interface SampleSegment {
  readonly bytes: Uint8Array;
  readonly ends: readonly number[];
}

/** One group per list; each number is the length of an object's value, whose bytes are never 0. */
export function sampleSegment(
  segmentBytes: number,
  groups: readonly (readonly number[])[],
  identity: SegmentIdentity = IDENTITY,
): SampleSegment {
  const bytes = new Uint8Array(segmentBytes);
  const writer = new SegmentWriter(bytes, identity);
  const ends = groups.map((lengths, group) => {
    lengths.forEach((length, index) => {
      const value = new Uint8Array(length).fill(1 + ((group * 31 + index) % 255));
      writer.append(EntryType.OBJECT, ...encodeObject(group + 1, Buffer.from(`key ${index}`), value));
    });
    const { offset, byteLength } = writer.seal()!;
    return offset + byteLength;
  });
  return { bytes, ends };
}
