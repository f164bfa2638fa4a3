import type { HistogramFamily, HistogramSample, Labels, Sample, ScalarFamily } from './family.js';
import { checkLabels, labelKey } from './names.js';
import { invalidOption } from './options.js';

/** A counter with labels: `counter.add(1, { outcome: 'ok' })`. */
export class Counter {
  readonly #samples = new Map<string, { labels: Labels; value: number }>();

  /** @internal `Metrics.counter` */
  constructor(
    /** The name of the metric; it ends in `_total`. */
    readonly name: string,
    /** One sentence for readers of the metrics. */
    readonly help: string,
  ) {}

  /** Adds 0 or more. Adding 0 makes the sample exist. @throws MetricsError ERR_RDMC_INVALID_OPTION, ERR_RDMC_METRICS_NAME */
  add(value: number, labels: Labels = {}): void {
    if (!(value >= 0))
      throw invalidOption(`${this.name}: a counter does not decrease: found ${String(value)}`);
    const key = labelKey(labels);
    const sample = this.#samples.get(key);
    if (sample) sample.value += value;
    else this.#samples.set(key, { labels: checkLabels(labels), value });
  }

  /** The family with all samples at this moment. */
  family(): ScalarFamily {
    const samples = [...this.#samples.values()].map((sample) => ({ ...sample }));
    return { name: this.name, help: this.help, type: 'counter', samples };
  }
}

/** A value, or samples with labels, at the moment of the call. */
export type ReadValue = () => number | readonly Sample[];

/** A counter or gauge whose value is read when the metrics are. */
export class Observed {
  constructor(
    readonly type: 'counter' | 'gauge',
    readonly name: string,
    readonly help: string,
    private readonly read: ReadValue,
  ) {}

  family(): ScalarFamily {
    const { name, help, type } = this;
    const value = this.read();
    return { name, help, type, samples: typeof value === 'number' ? [{ labels: {}, value }] : value };
  }
}

interface Distribution {
  readonly labels: Labels;
  /** Values of each bucket alone; the last one is above all bounds. */
  readonly buckets: number[];
  sum: number;
}

/** Called for each value of a histogram. */
export type RecordListener = (histogram: Histogram, value: number, labels: Labels) => void;

/** A histogram with labels: `histogram.record(seconds, { operation: 'send' })`. */
export class Histogram {
  readonly #distributions = new Map<string, Distribution>();

  /** @internal `Metrics.histogram` */
  constructor(
    /** The name of the metric; the unit is part of it. */
    readonly name: string,
    /** One sentence for readers of the metrics. */
    readonly help: string,
    /** Upper bounds of the buckets, ascending. */
    readonly bounds: readonly number[],
    private readonly onRecord: RecordListener,
  ) {
    const isAscending = bounds.every((bound, index) => index === 0 || bound > bounds[index - 1]!);
    if (bounds.length > 0 && isAscending && bounds.every((bound) => Number.isFinite(bound))) return;
    throw invalidOption(`${name}: the bounds of a histogram are ascending finite numbers, at least one`);
  }

  /** @throws MetricsError ERR_RDMC_INVALID_OPTION for NaN, ERR_RDMC_METRICS_NAME */
  record(value: number, labels: Labels = {}): void {
    if (Number.isNaN(value)) throw invalidOption(`${this.name}: a histogram cannot record NaN`);
    const key = labelKey(labels);
    let distribution = this.#distributions.get(key);
    if (!distribution) {
      const buckets = new Array<number>(this.bounds.length + 1).fill(0);
      distribution = { labels: checkLabels(labels, ['le']), buckets, sum: 0 };
      this.#distributions.set(key, distribution);
    }
    const at = this.bounds.findIndex((bound) => value <= bound);
    distribution.buckets[at === -1 ? this.bounds.length : at]! += 1;
    distribution.sum += value;
    this.onRecord(this, value, labels);
  }

  /** The family with all samples at this moment. */
  family(): HistogramFamily {
    const samples = [...this.#distributions.values()].map((each) => this.#sampleOf(each));
    return { name: this.name, help: this.help, type: 'histogram', samples };
  }

  #sampleOf({ labels, buckets, sum }: Distribution): HistogramSample {
    let count = 0;
    const cumulative = buckets.map((values) => {
      count += values;
      return count;
    });
    return { labels, bounds: this.bounds, counts: cumulative.slice(0, -1), count, sum };
  }
}
