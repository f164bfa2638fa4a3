import { Metrics, type MetricsAddress, serveMetrics } from '@rdmc/metrics';
import type { ServerStatistics } from '../node/server-statistics.js';
import type { Tell } from './tell.js';

interface Measured {
  statistics(): ServerStatistics;
}

type Sample = readonly [
  kind: 'observedCounter' | 'gauge',
  name: string,
  help: string,
  pick: (statistics: ServerStatistics) => number,
];

const SAMPLES: readonly Sample[] = [
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
  ['gauge', 'rdmc_kv_epoch', 'Epoch of the slot table.', (all) => all.epoch],
  [
    'gauge',
    'rdmc_kv_start_time_seconds',
    'Start of this server, in seconds since 1970.',
    (all) => all.startedAt / 1000,
  ],
];

/**
 * Serves the metrics of a server that starts meanwhile, until the process ends: its node and operations, and its own
 * numbers.
 */
export class ServedMetrics {
  #server: Measured | undefined;

  private constructor(metrics: Metrics) {
    for (const [kind, name, help, pick] of SAMPLES) {
      metrics[kind](name, help, () => (this.#server ? pick(this.#server.statistics()) : []));
    }
  }

  /** Without an address it does nothing. @throws MetricsError ERR_RDMC_METRICS_LISTEN_FAILED */
  static async start(
    name: string,
    address: MetricsAddress | undefined,
    tell: Tell,
  ): Promise<ServedMetrics | undefined> {
    if (!address) return undefined;
    const endpoint = await serveMetrics({ ...address, metrics: new Metrics({ watchNodes: true }) });
    tell(`${name}: metrics at ${endpoint.url}`, { metrics: endpoint.url });
    return new ServedMetrics(endpoint.metrics);
  }

  /** From now on the numbers of this server are among the metrics. */
  of(server: Measured): void {
    this.#server = server;
  }
}
