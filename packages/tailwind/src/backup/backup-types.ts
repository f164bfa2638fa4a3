import type { RemoteMemory } from '@rdmc/verbs';
import type { SegmentIdentity } from '../format/layout.js';
import type { ScanResult } from '../format/scan.js';
import type { ReplicaRecord } from '../storage/replica-header.js';

/** What a primary asks for when it opens a segment at a backup. */
export interface OpenReplica extends SegmentIdentity {
  readonly epoch: number;
  readonly segmentBytes: number;
  /** False: a replacement, which recovery does not see before it is committed. */
  readonly committed: boolean;
  /** True for a segment of the cleaner's (default false). */
  readonly survivor?: boolean;
}

/** Where the primary writes. */
export type Grant = RemoteMemory;

/** What recovery learns of a replica. */
export interface ReplicaReport {
  readonly record: ReplicaRecord;
  /** Of an open one, how much is complete; a closed one is scanned when it is loaded. */
  readonly scan: ScanResult | undefined;
  /** Of an open one, the payload of its last log digest. */
  readonly digest: Uint8Array | undefined;
}
