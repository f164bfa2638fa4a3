import type { ServeEvent } from '@rdmc/cast';
import { type Counter, Metrics, type MetricsAddress, type MetricsServer, serveMetrics } from '@rdmc/metrics';

/** The endpoint of `rdmc serve --metrics`: the fetches, what was sent, and the nodes that they join. */
export class ServeMetrics {
  readonly #fetches: Counter;
  readonly #sent: Counter;
  readonly #runs: Counter;
  readonly #serving = new Set<string>();

  private constructor(
    private readonly endpoint: MetricsServer,
    private readonly metrics: Metrics,
  ) {
    this.#fetches = metrics.counter('rdmc_serve_fetches_total', 'Fetches that have ended, by outcome.');
    this.#sent = metrics.counter(
      'rdmc_serve_sent_bytes_total',
      'Bytes of files that were sent, once for each group.',
    );
    this.#runs = metrics.counter('rdmc_serve_groups_total', 'Groups that files were sent to.');
    metrics.gauge('rdmc_serve_fetches_in_progress', 'Fetches that are served now.', () => this.#serving.size);
    for (const outcome of ['complete', 'partial', 'failed']) this.#fetches.add(0, { outcome });
    for (const counter of [this.#sent, this.#runs]) counter.add(0);
  }

  /** @throws MetricsError ERR_RDMC_METRICS_LISTEN_FAILED */
  static async serve(address: MetricsAddress): Promise<ServeMetrics> {
    const metrics = new Metrics({ watchNodes: true });
    try {
      return new ServeMetrics(await serveMetrics({ ...address, metrics }), metrics);
    } catch (error) {
      metrics.close();
      throw error;
    }
  }

  get url(): string {
    return this.endpoint.url;
  }

  happened(event: ServeEvent): void {
    if (event.type === 'began') this.#serving.add(event.fetchId);
    if (event.type === 'sent' && event.leader === undefined) {
      this.#sent.add(event.bytes);
      this.#runs.add(1);
    }
    if (event.type !== 'complete' && event.type !== 'failed') return;
    this.#serving.delete(event.fetchId);
    const isWhole = event.type === 'complete' && event.problemCount === 0;
    const outcome = event.type === 'failed' ? 'failed' : isWhole ? 'complete' : 'partial';
    this.#fetches.add(1, { outcome });
  }

  async close(): Promise<void> {
    this.metrics.close();
    await this.endpoint.close();
  }
}
