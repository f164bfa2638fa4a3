import { Metrics, type MetricsAddress, serveMetrics } from '@rdmc/metrics';
import type { Tell } from './tell.js';

/** A number of a member; undefined: it does not have it. */
export type MetricSample<Statistics> = readonly [
  kind: 'observedCounter' | 'gauge',
  name: string,
  help: string,
  pick: (statistics: Statistics) => number | undefined,
];

interface Measured<Statistics> {
  statistics(): Statistics;
}

/**
 * Serves the metrics of a member that starts meanwhile, until the process ends: its node and operations, and its own
 * numbers.
 */
export class ServedMetrics<Statistics> {
  #member: Measured<Statistics> | undefined;

  private constructor(metrics: Metrics, samples: readonly MetricSample<Statistics>[]) {
    for (const [kind, name, help, pick] of samples) {
      metrics[kind](name, help, () => (this.#member && pick(this.#member.statistics())) ?? []);
    }
  }

  /** Without an address it does nothing. @throws MetricsError ERR_RDMC_METRICS_LISTEN_FAILED */
  static async start<Statistics>(
    name: string,
    address: MetricsAddress | undefined,
    samples: readonly MetricSample<Statistics>[],
    tell: Tell,
  ): Promise<ServedMetrics<Statistics> | undefined> {
    if (!address) return undefined;
    const endpoint = await serveMetrics({ ...address, metrics: new Metrics({ watchNodes: true }) });
    tell(`${name}: metrics at ${endpoint.url}`, { metrics: endpoint.url });
    return new ServedMetrics(endpoint.metrics, samples);
  }

  /** From now on the numbers of this member are among the metrics. */
  of(member: Measured<Statistics>): void {
    this.#member = member;
  }
}
