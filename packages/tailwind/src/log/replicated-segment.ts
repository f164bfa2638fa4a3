import type { SegmentIdentity } from '../format/layout.js';
import type { Certificate } from '../format/scan.js';
import type { LocalMemory } from '../worker/channel.js';

/** The view of a segment for its replicas. */
export interface ReplicatedSegment {
  readonly identity: SegmentIdentity;
  readonly role: 'head' | 'survivor';
  /** The segment's memory at the primary. */
  readonly memory: LocalMemory;
  /** Length and checksum of the data that was posted to the worker so far. */
  readonly posted: Certificate;
}
