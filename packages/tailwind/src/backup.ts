/** Entry of processes that keep replicas of other members' segments. */
export { Backup } from './backup/backup.js';
export type { BackupOptions } from './backup/backup-options.js';
export type { Grant, OpenReplica, ReplicaReport } from './backup/backup-types.js';
export { dumpOnSignals } from './backup/dump-on-signal.js';
export type { FlushFailure } from './backup/flush-failures.js';
export type { DiskFacts } from './backup/power-grant.js';
export type { BackupService } from './rpc/backup-service.js';
export type { BackupServiceOptions } from './rpc/backup-service-options.js';
export type { DamagedFile } from './storage/replica-store.js';
