import type { Executor } from '../server/executor.js';

/** What a server has done since its start, and what it holds. */
export interface ServerStatistics {
  /** Commands of clients. */
  readonly commands: number;
  /** Connected clients. */
  readonly clients: number;
  /** Keys, also those that have expired and are not removed yet. */
  readonly keys: number;
  /** Epoch of the slot table; 0 for a server alone. */
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

export function statisticsOf({ node, store }: Executor): ServerStatistics {
  const { commandsProcessed: commands, clients, epoch, startedAt } = node;
  return { commands, clients, keys: store.keyspace.size, epoch, startedAt };
}
