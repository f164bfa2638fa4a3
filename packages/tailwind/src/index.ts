export { Backup } from './backup/backup.js';
export type { BackupOptions } from './backup/backup-options.js';
export type { Grant, OpenReplica, ReplicaReport } from './backup/backup-types.js';
export { dumpOnSignals } from './backup/dump-on-signal.js';
export { bootClock, type Clock } from './clock.js';
export { Coordinator, type CoordinatorOptions } from './coordinator/coordinator.js';
export { CoordinatorClient, type RecoveryAttempt } from './coordinator/coordinator-client.js';
export { EtcdStore } from './coordinator/etcd-store.js';
export type { EtcdStoreOptions } from './coordinator/etcd-store-options.js';
export { FileStore } from './coordinator/file-store.js';
export { Lease } from './coordinator/lease.js';
export type { LogRecord, SalvagedSegment } from './coordinator/log-record.js';
export type { StateStore, StoredValue } from './coordinator/state-store.js';
export { TailwindError, type TailwindErrorCode, tailwindErrors } from './errors.js';
export { EntryType, type EntryTypeNumber, FORMAT_VERSION, type SegmentIdentity } from './format/layout.js';
export {
  decodeDigest,
  decodeObject,
  decodeSegmentHeader,
  decodeTombstone,
  encodeDigest,
  encodeObject,
  encodeSegmentHeader,
  encodeTombstone,
  type LogObject,
  type LogTombstone,
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
export type { LogAuthority, Minimum } from './log/authority.js';
export type { EntryLocation } from './log/entry-location.js';
export type { Log } from './log/log.js';
export type { LogCleaner } from './log/log-cleaner.js';
export type { LogOptions } from './log/log-options.js';
export type { LogStats } from './log/log-stats.js';
export type { Append, AppendLocation, LogEntry } from './log/ticket.js';
export { Logs, tailwind } from './logs.js';
export type { Logger } from './options.js';
export type { ReplicationMode } from './records.js';
export {
  type BackupInventory,
  type PlannedSegment,
  planRecovery,
  type RecoveryPlan,
} from './recovery/plan.js';
export type { RecoveredSegment, Recovery, RecoveryOptions } from './recovery/recover.js';
export type { BackupService } from './rpc/backup-service.js';
export type { BackupServiceOptions } from './rpc/backup-service-options.js';
export type { InventoryEntry } from './rpc/messages.js';
export { acceptLoss, type KnownLogs, knownLogs } from './salvage/known-logs.js';
export {
  lockReplicaDirectory,
  type ReplicaDirectory,
  type ReplicaFile,
  readReplicaDirectory,
  readWhole,
} from './salvage/replica-files.js';
export { type LogSurvey, type SurveyedSegment, surveyLog } from './salvage/survey.js';
export type { SegmentRef } from './segment-key.js';
export { decodeReplicaHeader, type ReplicaRecord } from './storage/replica-header.js';
export type { DamagedFile } from './storage/replica-store.js';
