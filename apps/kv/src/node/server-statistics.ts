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
  /** Epoch of the slot table; 0 for a server alone. */
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

export function statisticsOf({ node, store }: Executor, port: ClientPort): ServerStatistics {
  const { commandsProcessed: commands, clients, epoch, startedAt } = node;
  const { appends, oldestMs } = store.lag;
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
    epoch,
    startedAt,
  };
}
