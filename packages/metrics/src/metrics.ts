import { tracingChannel } from 'node:diagnostics_channel';
import { type Subscription, subscription } from '@rdmc/common';
import { MetricsError } from './errors.js';
import type { Labels, MetricFamily } from './family.js';
import { Counter, Histogram, Observed, type ReadValue, type RecordListener } from './instruments.js';
import { checkLabels, checkMetricName } from './names.js';
import type { MeasuredNode } from './node-reading.js';
import { NodeSet } from './node-set.js';
import { OPERATIONS, OperationWatch } from './operations.js';
import { booleanOption, invalidOption, onlyKnownOptions } from './options.js';
import { prometheusText } from './prometheus-text.js';

/** Upper bounds in seconds: 100 µs to 100 s. */
const DURATION_BOUNDS = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100];
/** Upper bounds in bytes: 1 KiB to 1 GiB. */
const MESSAGE_BOUNDS = [
  2 ** 10,
  2 ** 12,
  2 ** 14,
  2 ** 16,
  2 ** 18,
  2 ** 20,
  2 ** 22,
  2 ** 24,
  2 ** 27,
  2 ** 30,
];
const OPERATION = /^[a-z0-9.-]+:[a-zA-Z0-9.-]+$/;

/** The options of {@link Metrics}. */
export interface MetricsOptions {
  /**
   * Measure each node that joins in this thread from now on, until it closes (default false). Otherwise `add` the nodes.
   */
  readonly watchNodes?: boolean;
  /**
   * The operations to time, as `group:send` for the tracing channel `@rdmc/group:send`. Default: `OPERATIONS`, which has no
   * hot path; an empty list times nothing. Each costs two readings of the clock per call.
   */
  readonly operations?: readonly string[];
  /** Labels of every sample, such as `{ cluster: 'a' }`. */
  readonly labels?: Labels;
}

/**
 * The metrics of rdmc in this thread: counters of nodes, durations of operations, and instruments of your own. Belongs to
 * the thread that created it, as the nodes do; a worker's counters are read from shared memory, without interrupting it.
 */
export class Metrics {
  readonly #labels: Labels;
  readonly #nodes = new NodeSet();
  readonly #instruments = new Map<string, Counter | Observed | Histogram>();
  readonly #watches: OperationWatch[];
  readonly #recordListeners = new Set<RecordListener>();
  readonly #stopWatching: () => void;

  /** @throws MetricsError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_METRICS_NAME */
  constructor(options: MetricsOptions = {}) {
    onlyKnownOptions('Metrics', options, ['watchNodes', 'operations', 'labels']);
    const { watchNodes = false, operations = OPERATIONS, labels = {} } = options;
    booleanOption('Metrics', 'watchNodes', watchNodes);
    this.#labels = { ...checkLabels(labels) };
    this.gauge('rdmc_nodes', 'Open nodes that are measured.', () => this.#nodes.size);
    this.#watches = this.#watchesOf(checkOperations(operations));
    this.#stopWatching = watchNodes ? onJoin((node) => this.add(node)) : () => {};
  }

  /**
   * Measures a node until it closes, or the subscription is closed. What its counters had counted stays in the sums.
   * @param labels default: `{ node: <id> }`. Nodes with equal labels count as one
   * @throws MetricsError ERR_RDMC_METRICS_NAME
   */
  add(node: MeasuredNode, labels: Labels = { node: String(node.id) }): Subscription {
    return this.#nodes.add(node, checkLabels(labels, ['protocol', 'counter', 'state', 'device', 'kind']));
  }

  /** A counter of your own. @throws MetricsError ERR_RDMC_METRICS_NAME, ERR_RDMC_METRICS_EXISTS */
  counter(name: string, help: string): Counter {
    return this.#register(new Counter(checkMetricName(name, 'counter'), help));
  }

  /**
   * A counter of your own whose value is kept elsewhere. `read` is called when the metrics are read; it returns a value that
   * does not decrease, or samples with labels.
   * @throws MetricsError ERR_RDMC_METRICS_NAME, ERR_RDMC_METRICS_EXISTS
   */
  observedCounter(name: string, help: string, read: ReadValue): void {
    this.#register(new Observed('counter', checkMetricName(name, 'counter'), help, read));
  }

  /**
   * A gauge of your own. `read` is called when the metrics are read; it returns a value, or samples with labels.
   * @throws MetricsError ERR_RDMC_METRICS_NAME, ERR_RDMC_METRICS_EXISTS
   */
  gauge(name: string, help: string, read: ReadValue): void {
    this.#register(new Observed('gauge', checkMetricName(name, 'gauge'), help, read));
  }

  /**
   * A histogram of your own.
   * @param bounds upper bounds of its buckets, ascending, in the unit of the name
   * @throws MetricsError ERR_RDMC_METRICS_NAME, ERR_RDMC_METRICS_EXISTS, ERR_RDMC_INVALID_OPTION
   */
  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    const record: RecordListener = (...all) => {
      for (const listener of this.#recordListeners) listener(...all);
    };
    return this.#register(new Histogram(checkMetricName(name, 'histogram'), help, bounds, record));
  }

  /** Calls `listener` for each value that a histogram records. */
  onRecord(listener: RecordListener): Subscription {
    this.#recordListeners.add(listener);
    return subscription(() => this.#recordListeners.delete(listener));
  }

  /** All metrics at this moment. */
  families(): MetricFamily[] {
    const own = [...this.#instruments.values()].map((instrument) => instrument.family());
    return [...this.#nodes.families(), ...own].map((family) => this.#labelled(family));
  }

  /** All metrics in the text format of Prometheus, version 0.0.4. */
  text(): string {
    return prometheusText(this.families());
  }

  /** Ends the subscriptions to tracing channels. The metrics can still be read. Idempotent. */
  close(): void {
    this.#stopWatching();
    for (const watch of this.#watches.splice(0)) watch.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #watchesOf(operations: readonly string[]): OperationWatch[] {
    if (operations.length === 0) return [];
    const metrics = {
      durations: this.histogram(
        'rdmc_operation_duration_seconds',
        'Durations of operations, by operation and outcome (ok, error).',
        DURATION_BOUNDS,
      ),
      errors: this.counter(
        'rdmc_operation_errors_total',
        'Operations that failed, by the code of the error.',
      ),
      messages: this.histogram(
        'rdmc_message_size_bytes',
        'Sizes of the messages of operations that succeeded.',
        MESSAGE_BOUNDS,
      ),
    };
    return operations.map((operation) => new OperationWatch(operation, metrics));
  }

  #register<Instrument extends Counter | Observed | Histogram>(instrument: Instrument): Instrument {
    const { name } = instrument;
    if (this.#instruments.has(name) || this.#nodes.families().some((family) => family.name === name)) {
      throw new MetricsError('ERR_RDMC_METRICS_EXISTS', `A metric '${name}' exists; use another name`);
    }
    this.#instruments.set(name, instrument);
    return instrument;
  }

  #labelled(family: MetricFamily): MetricFamily {
    const labelled = <One extends { readonly labels: Labels }>(sample: One): One => ({
      ...sample,
      labels: { ...this.#labels, ...sample.labels },
    });
    if (family.type === 'histogram') return { ...family, samples: family.samples.map(labelled) };
    return { ...family, samples: family.samples.map(labelled) };
  }
}

function checkOperations(operations: readonly string[]): readonly string[] {
  const isList = Array.isArray(operations) && operations.every((each) => OPERATION.test(String(each)));
  if (isList) return [...new Set(operations)];
  throw invalidOption("Metrics: operations must be a list of names such as 'group:send'");
}

/** Calls `listener` for each node that joins in this thread. Returns a function that ends this. */
function onJoin(listener: (node: MeasuredNode) => void): () => void {
  const channel = tracingChannel<unknown, object>('@rdmc/node:join');
  const ignore = (): void => {};
  const asyncStart = (message: unknown): void => {
    const { result } = message as { result?: MeasuredNode };
    if (result) listener(result);
  };
  const handlers = { start: ignore, end: ignore, asyncStart, asyncEnd: ignore, error: ignore };
  channel.subscribe(handlers);
  return () => void channel.unsubscribe(handlers);
}
