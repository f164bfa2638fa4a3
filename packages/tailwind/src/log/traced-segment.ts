import type { SegmentIdentity } from '../format/layout.js';
import type { TracedSegment } from '../records.js';

/** What traces call a segment. */
export function tracedSegment({ logId, segmentId }: SegmentIdentity): TracedSegment {
  return { log: Number(BigInt.asUintN(32, logId)), segment: Number(BigInt.asUintN(32, segmentId)) };
}
