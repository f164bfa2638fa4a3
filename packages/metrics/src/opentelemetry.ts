/** The entry `@rdmc/metrics/opentelemetry`, which needs `@opentelemetry/api`. */
import type {
  Meter,
  Observable,
  ObservableResult,
  Histogram as TelemetryHistogram,
} from '@opentelemetry/api';
import { type Subscription, subscription } from '@rdmc/common';
import type { MetricFamily, ScalarFamily } from './family.js';
import type { Histogram } from './instruments.js';
import type { Metrics } from './metrics.js';

const UNITS: readonly [suffix: string, unit: string][] = [
  ['_seconds', 's'],
  ['_bytes', 'By'],
];

/**
 * Reports all metrics to a meter of OpenTelemetry: counters and gauges as observables, which are read when the SDK
 * collects; histograms as histograms, which record each value. `rdmc_polling_seconds_total` is `rdmc.polling` with the
 * unit `s`. A metric that appears later, such as that of a first node, is reported from the second collection after it on.
 * @returns closing it ends the reports
 */
export function observe(meter: Meter, metrics: Metrics): Subscription {
  const observer = new Observer(meter, metrics);
  return subscription(() => observer.close());
}

class Observer {
  readonly #observed = new Map<
    string,
    { instrument: Observable; callback: (result: ObservableResult) => void }
  >();
  readonly #histograms = new Map<string, TelemetryHistogram>();
  readonly #records: Subscription;
  /** The metrics of the present collection: all callbacks of one share them. */
  #families: readonly MetricFamily[] | undefined;

  constructor(
    private readonly meter: Meter,
    private readonly metrics: Metrics,
  ) {
    this.#records = metrics.onRecord((histogram, value, labels) => {
      this.#histogramOf(histogram).record(value, { ...labels });
    });
    this.#observeAll();
  }

  close(): void {
    this.#records.close();
    for (const { instrument, callback } of this.#observed.values()) instrument.removeCallback(callback);
    this.#observed.clear();
  }

  #observeAll(): void {
    for (const family of this.#read()) {
      if (family.type !== 'histogram' && !this.#observed.has(family.name)) this.#observe(family);
    }
  }

  #observe({ name, help, type }: ScalarFamily): void {
    const options = { description: help, unit: unitOf(name) };
    const instrument =
      type === 'counter'
        ? this.meter.createObservableCounter(telemetryName(name), options)
        : this.meter.createObservableGauge(telemetryName(name), options);
    const callback = (result: ObservableResult): void => {
      this.#observeAll();
      const family = this.#read().find((each) => each.name === name);
      if (!family || family.type === 'histogram') return;
      for (const { labels, value } of family.samples) result.observe(value, { ...labels });
    };
    instrument.addCallback(callback);
    this.#observed.set(name, { instrument, callback });
  }

  #read(): readonly MetricFamily[] {
    if (!this.#families) {
      this.#families = this.metrics.families();
      queueMicrotask(() => {
        this.#families = undefined;
      });
    }
    return this.#families;
  }

  #histogramOf({ name, help, bounds }: Histogram): TelemetryHistogram {
    let histogram = this.#histograms.get(name);
    if (!histogram) {
      const advice = { explicitBucketBoundaries: [...bounds] };
      const options = { description: help, unit: unitOf(name), advice };
      histogram = this.meter.createHistogram(telemetryName(name), options);
      this.#histograms.set(name, histogram);
    }
    return histogram;
  }
}

/** `rdmc_device_copied_bytes_total` → `rdmc.device_copied`. */
function telemetryName(name: string): string {
  const base = withoutTotal(name);
  const suffix = UNITS.find(([each]) => base.endsWith(each))?.[0] ?? '';
  return base.slice(0, base.length - suffix.length).replace('_', '.');
}

function unitOf(name: string): string {
  const base = withoutTotal(name);
  return UNITS.find(([suffix]) => base.endsWith(suffix))?.[1] ?? '1';
}

function withoutTotal(name: string): string {
  return name.replace(/_total$/, '');
}
