import type { RemoteMemory } from '@rdmc/verbs';
import type { SegmentIdentity } from '../format/layout.js';
import type { ScanResult } from '../format/scan.js';
import type { ReplicaRecord } from '../storage/replica-header.js';

/** A primary's request to open a segment at a backup. */
export interface OpenReplica extends SegmentIdentity {
  /** The primary's epoch for this segment. */
  readonly epoch: number;
  /** Size of the segment; at most that of the backup's buffers. */
  readonly segmentBytes: number;
  /** False for a replacement, which recovery ignores until it is committed. */
  readonly committed: boolean;
  /** True for a segment of the cleaner (default false). */
  readonly survivor?: boolean;
}

/** The memory that the primary writes to. */
export type Grant = RemoteMemory;

/** A replica as it is reported to a recovery. */
export interface ReplicaReport {
  /** The replica's properties. */
  readonly record: ReplicaRecord;
  /** For an open replica: how much is complete. A closed one is scanned when it is loaded. */
  readonly scan: ScanResult | undefined;
  /** For an open replica: the payload of its last log digest. */
  readonly digest: Uint8Array | undefined;
}
