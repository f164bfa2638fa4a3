import { list, nullable, openRecord, type Shape, whole } from '@rdmc/common/shapes';
import { u32, u64 } from '../rpc/messages.js';
import type { Division } from './division.js';

/** What `plainDivision` makes, as it comes from another member. */
export const divisionShape: Shape<Division> = openRecord({
  logId: u64,
  attempt: u32,
  segments: list(
    openRecord({ segmentId: u64, byteLength: u32, checksum: nullable(u32), sources: list(whole()) }),
  ),
});

/** A division as plain JSON, in which 64-bit numbers are decimal text, for the message of a leader to the heirs. */
export function plainDivision({ logId, attempt, segments }: Division) {
  return {
    logId: String(logId),
    attempt,
    segments: segments.map((segment) => ({ ...segment, segmentId: String(segment.segmentId) })),
  };
}
