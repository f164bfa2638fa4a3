import { Metrics, type MetricsAddress, serveMetrics } from '@rdmc/metrics';
import type { ServerStatistics } from '../node/server-statistics.js';
import type { Tell } from './tell.js';

interface Measured {
  statistics(): ServerStatistics;
}

/**
 * Serves the metrics of a server that starts meanwhile, until the process ends: its node and operations, and its own
 * numbers.
 */
export class ServedMetrics {
  #server: Measured | undefined;

  private constructor(metrics: Metrics) {
    const read = (pick: (statistics: ServerStatistics) => number) => () =>
      this.#server ? pick(this.#server.statistics()) : [];
    metrics.observedCounter(
      'rdmc_kv_commands_total',
      'Commands of clients.',
      read(({ commands }) => commands),
    );
    metrics.gauge(
      'rdmc_kv_clients',
      'Connected clients.',
      read(({ clients }) => clients),
    );
    metrics.gauge(
      'rdmc_kv_keys',
      'Keys that this server holds.',
      read(({ keys }) => keys),
    );
    metrics.gauge(
      'rdmc_kv_epoch',
      'Epoch of the slot table.',
      read(({ epoch }) => epoch),
    );
    metrics.gauge(
      'rdmc_kv_start_time_seconds',
      'Start of this server, in seconds since 1970.',
      read(({ startedAt }) => startedAt / 1000),
    );
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
