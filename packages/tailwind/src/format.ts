/** Segments, replicas and recovery plans as bytes and values, for tools that read them without a cluster. */

export { PULL_WINDOW } from './constants.js';
export { FORMAT_VERSION, type SegmentIdentity } from './format/layout.js';
export {
  decodeDigest,
  decodeSegmentHeader,
  encodeDigest,
  encodeSegmentHeader,
  type SegmentHeader,
} from './format/payloads.js';
export {
  type Certificate,
  type ScanOptions,
  type ScanReason,
  type ScanResult,
  type SegmentEntry,
  scanSegment,
  segmentEntries,
} from './format/scan.js';
export { type SealedGroup, SegmentWriter } from './format/segment-writer.js';
export {
  type DividedSegment,
  type Division,
  type HeirShare,
  planShares,
  planSources,
  type RecoveryWork,
  type SlotRange,
  workOf,
} from './recovery/division.js';
export {
  type BackupInventory,
  type PlannedSegment,
  planRecovery,
  type RecoveryPlan,
} from './recovery/plan.js';
export { PullMachine, type PullRequest } from './recovery/pull-machine.js';
export type { InventoryEntry } from './rpc/messages.js';
export { decodeReplicaHeader, type ReplicaRecord } from './storage/replica-header.js';
