import type { ReceiverEvent } from '@rdmc/cast';
import { type Counter, Metrics, type MetricsAddress, type MetricsServer, serveMetrics } from '@rdmc/metrics';

/** The endpoint of `rdmc receive --metrics`: the casts, and the nodes that they join. */
export class ReceiveMetrics {
  readonly #casts: Counter;
  readonly #files: Counter;
  readonly #bytes: Counter;
  readonly #problems: Counter;
  /** Stored bytes of each cast in progress that were counted. */
  readonly #counted = new Map<string, number>();

  private constructor(
    private readonly endpoint: MetricsServer,
    private readonly metrics: Metrics,
  ) {
    this.#casts = metrics.counter('rdmc_receive_casts_total', 'Casts that have ended, by outcome.');
    this.#files = metrics.counter('rdmc_receive_files_total', 'Regular files that are stored.');
    this.#bytes = metrics.counter('rdmc_receive_bytes_total', 'Bytes of files that are stored.');
    this.#problems = metrics.counter('rdmc_receive_missing_entries_total', 'Entries that did not arrive.');
    metrics.gauge('rdmc_receive_casts_in_progress', 'Casts that arrive now.', () => this.#counted.size);
    for (const outcome of ['complete', 'partial', 'failed']) this.#casts.add(0, { outcome });
    for (const counter of [this.#files, this.#bytes, this.#problems]) counter.add(0);
  }

  /** @throws MetricsError ERR_RDMC_METRICS_LISTEN_FAILED */
  static async serve(address: MetricsAddress): Promise<ReceiveMetrics> {
    const metrics = new Metrics({ watchNodes: true });
    try {
      return new ReceiveMetrics(await serveMetrics({ ...address, metrics }), metrics);
    } catch (error) {
      metrics.close();
      throw error;
    }
  }

  get url(): string {
    return this.endpoint.url;
  }

  happened(event: ReceiverEvent): void {
    const { castId } = event;
    if (event.type === 'began' && !event.dryRun) this.#counted.set(castId, 0);
    if (event.type === 'progress') this.#stored(castId, event.storedBytes);
    if (event.type !== 'complete' && event.type !== 'failed') return;
    if (event.dryRun) return;
    this.#stored(castId, event.bytes);
    this.#counted.delete(castId);
    this.#files.add(event.files);
    const problems = event.type === 'complete' ? event.problemCount : 0;
    this.#problems.add(problems);
    const outcome = event.type === 'failed' ? 'failed' : problems > 0 ? 'partial' : 'complete';
    this.#casts.add(1, { outcome });
  }

  async close(): Promise<void> {
    this.metrics.close();
    await this.endpoint.close();
  }

  #stored(castId: string, bytes: number): void {
    const counted = this.#counted.get(castId) ?? 0;
    if (bytes <= counted) return;
    this.#bytes.add(bytes - counted);
    this.#counted.set(castId, bytes);
  }
}
