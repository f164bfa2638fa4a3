import type { ServerStatistics } from '../node/server-statistics.js';
import type { MetricSample } from './serve-metrics.js';

/** What `kv server --metrics` tells of the server. */
export const SERVER_SAMPLES: readonly MetricSample<ServerStatistics>[] = [
  ['observedCounter', 'rdmc_kv_commands_total', 'Commands of clients.', (all) => all.commands],
  [
    'observedCounter',
    'rdmc_kv_slow_commands_total',
    'Commands that took longer than the threshold of the slow log.',
    (all) => all.slowCommands,
  ],
  ['gauge', 'rdmc_kv_clients', 'Connected clients.', (all) => all.clients],
  [
    'observedCounter',
    'rdmc_kv_connections_total',
    'Connections of clients that were accepted.',
    (all) => all.connections,
  ],
  [
    'observedCounter',
    'rdmc_kv_refused_connections_total',
    'Connections of clients that were refused, because there were too many.',
    (all) => all.refusedConnections,
  ],
  [
    'gauge',
    'rdmc_kv_waiting_appends',
    'Appends that not all backups have acknowledged.',
    (all) => all.waitingAppends,
  ],
  [
    'gauge',
    'rdmc_kv_replication_lag_seconds',
    'Time that the oldest of these appends has waited.',
    (all) => all.replicationLagMs / 1000,
  ],
  [
    'observedCounter',
    'rdmc_kv_replication_wait_seconds_total',
    'Time that writes have waited for all their backups, of all writes together.',
    (all) => all.replicationWaitMs / 1000,
  ],
  ['gauge', 'rdmc_kv_keys', 'Keys that this server holds.', (all) => all.keys],
  ['gauge', 'rdmc_kv_slots', 'Slots that this server has.', (all) => all.slots],
  [
    'gauge',
    'rdmc_kv_unserved_slots',
    'Slots that no server has, as far as this one knows.',
    (all) => all.unservedSlots,
  ],
  [
    'gauge',
    'rdmc_kv_lease_valid',
    'Whether this server may answer reads: 1 or 0.',
    (all) => Number(all.hasLease),
  ],
  ['gauge', 'rdmc_kv_log_live_bytes', 'Bytes of the log that are in use.', (all) => all.logLiveBytes],
  ['gauge', 'rdmc_kv_log_bytes', "Bytes of the log's segments.", (all) => all.logBytes],
  [
    'gauge',
    'rdmc_kv_log_limit_bytes',
    'Bytes of as many segments as the log may have.',
    (all) => all.logLimitBytes,
  ],
  [
    'gauge',
    'rdmc_kv_backup_logs',
    'Logs of other servers of which this one has replicas.',
    (all) => all.backup?.logs,
  ],
  [
    'gauge',
    'rdmc_kv_backup_buffers_used',
    'Segments of other servers that are in memory only.',
    (all) => all.backup?.buffersUsed,
  ],
  [
    'gauge',
    'rdmc_kv_backup_buffers',
    'Segments of other servers that may be in memory only at once.',
    (all) => all.backup?.buffers,
  ],
  [
    'gauge',
    'rdmc_kv_backup_failed_segments',
    'Segments of other servers that are in memory only because their last write to a file failed.',
    (all) => all.backup?.failedSegments,
  ],
  [
    'observedCounter',
    'rdmc_kv_backup_failed_writes_total',
    'Writes of segments of other servers to files that failed; each is tried again.',
    (all) => all.backup?.failedWrites,
  ],
  ['gauge', 'rdmc_kv_epoch', 'Epoch of the slot table.', (all) => all.epoch],
  [
    'gauge',
    'rdmc_kv_start_time_seconds',
    'Start of this server, in seconds since 1970.',
    (all) => all.startedAt / 1000,
  ],
];
