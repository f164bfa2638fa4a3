import { NOBODY } from '../cluster/slot-table.js';
import type { SlotRange } from '../commands/node-view.js';
import type { ClientPort } from '../server/client-port.js';
import type { Executor } from '../server/executor.js';

/** What a server has done since its start, and what it holds. */
export interface ServerStatistics {
  /** Commands of clients. */
  readonly commands: number;
  /** Connected clients. */
  readonly clients: number;
  /** Connections that were accepted. */
  readonly connections: number;
  /** Connections that were refused, because there were too many. */
  readonly refusedConnections: number;
  /** Commands that took longer than the threshold of the slow log. */
  readonly slowCommands: number;
  /** Appends that not all backups have acknowledged; 0 without replication. */
  readonly waitingAppends: number;
  /** For how long the oldest of these appends has waited, in milliseconds. */
  readonly replicationLagMs: number;
  /** Milliseconds that writes have waited for the acknowledgement of all their backups, of all writes together. */
  readonly replicationWaitMs: number;
  /** Keys, also those that have expired and are not removed yet. */
  readonly keys: number;
  /** Slots that this server has, those that it is handing over included. */
  readonly slots: number;
  /** Slots that no server has, as far as this one knows: commands for them wait. */
  readonly unservedSlots: number;
  /** Whether this server may answer reads now. */
  readonly hasLease: boolean;
  /** Bytes of entries in the log that are in use; 0 without replication. */
  readonly logLiveBytes: number;
  /** Bytes of the log's segments; 0 without replication. */
  readonly logBytes: number;
  /** Bytes of as many segments as the log may have; 0 without replication. */
  readonly logLimitBytes: number;
  /** What this server keeps for others; undefined without replication. */
  readonly backup: BackupStatistics | undefined;
  /** Epoch of the slot table; 0 for a server alone. */
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

/** The backup of other servers' logs. */
export interface BackupStatistics {
  /** Logs of which it has replicas. */
  readonly logs: number;
  /** Segments that are in memory only. */
  readonly buffersUsed: number;
  /** Segments that may be in memory only at once. */
  readonly buffers: number;
  /** Segments that are in memory only because their last write to a file failed. */
  readonly failedSegments: number;
  /** Writes of segments to files that failed; each is tried again. */
  readonly failedWrites: number;
}

/** What a backup tells of itself. */
export interface MeasuredBackup {
  readonly logIds: readonly bigint[];
  readonly buffers: { readonly used: number; readonly limit: number };
  readonly flushFailure: { readonly segments: number } | undefined;
  readonly failedFlushes: number;
}

export function statisticsOf(
  { node, store, hasLease }: Executor,
  port: ClientPort,
  backup?: MeasuredBackup,
): ServerStatistics {
  const { commandsProcessed: commands, clients, epoch, startedAt } = node;
  const { appends, oldestMs } = store.lag;
  const { bytes, liveBytes, limitBytes } = store.usage;
  const ranges = node.ranges();
  return {
    commands,
    clients,
    connections: port.accepted,
    refusedConnections: port.refused,
    slowCommands: node.monitor.slowLog.total,
    waitingAppends: appends,
    replicationLagMs: oldestMs,
    replicationWaitMs: store.waitedMs,
    keys: store.keyspace.size,
    slots: slotsOf(ranges, node.member),
    unservedSlots: slotsOf(ranges, NOBODY),
    hasLease,
    logLiveBytes: liveBytes,
    logBytes: bytes,
    logLimitBytes: Number.isFinite(limitBytes) ? limitBytes : 0,
    backup: backup && {
      logs: backup.logIds.length,
      buffersUsed: backup.buffers.used,
      buffers: backup.buffers.limit,
      failedSegments: backup.flushFailure?.segments ?? 0,
      failedWrites: backup.failedFlushes,
    },
    epoch,
    startedAt,
  };
}

function slotsOf(ranges: readonly SlotRange[], owner: number): number {
  return ranges.reduce((sum, { from, to, member }) => (member === owner ? sum + to - from + 1 : sum), 0);
}
