import type { SegmentIdentity } from '../format/layout.js';
import type { Certificate } from '../format/scan.js';
import type { LocalMemory } from '../worker/channel.js';

/** What the replicas need to know of their segment. */
export interface ReplicatedSegment {
  readonly identity: SegmentIdentity;
  readonly role: 'head' | 'survivor';
  /** The segment's memory here. */
  readonly memory: LocalMemory;
  /** What was handed to the worker so far. */
  readonly posted: Certificate;
}
