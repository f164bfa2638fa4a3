/** Label names and values. Values may be any text; names are those of Prometheus. */
export type Labels = Readonly<Record<string, string>>;

/** A value of a counter or gauge at one moment. */
export interface Sample {
  /** The labels of this sample; empty for a metric without labels. */
  readonly labels: Labels;
  /** The value, in the unit of the name. */
  readonly value: number;
}

/** A histogram at one moment. */
export interface HistogramSample {
  /** The labels of this sample, without `le`. */
  readonly labels: Labels;
  /** Values up to each bound, the bound included; the same order as `bounds`. */
  readonly counts: readonly number[];
  /** Upper bounds of the buckets, ascending, in the unit of the name. */
  readonly bounds: readonly number[];
  /** All values, also those above the last bound. */
  readonly count: number;
  /** The sum of all values, in the unit of the name. */
  readonly sum: number;
}

interface Named {
  /** `rdmc_…`; a counter's name ends in `_total`. Units are seconds and bytes, and are part of the name. */
  readonly name: string;
  /** One sentence. */
  readonly help: string;
}

/** A counter or a gauge with its samples. */
export interface ScalarFamily extends Named {
  /** Distinguishes the families. A counter does not decrease. */
  readonly type: 'counter' | 'gauge';
  /** One sample for each combination of label values. */
  readonly samples: readonly Sample[];
}

/** A histogram with its samples. */
export interface HistogramFamily extends Named {
  /** Distinguishes the families. */
  readonly type: 'histogram';
  /** One sample for each combination of label values. */
  readonly samples: readonly HistogramSample[];
}

/** A metric with its samples, one for each combination of label values. */
export type MetricFamily = ScalarFamily | HistogramFamily;
