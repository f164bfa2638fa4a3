/** Label names and values. Values may be any text; names are those of Prometheus. */
export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** A histogram at one moment. */
export interface HistogramSample {
  readonly labels: Labels;
  /** Values up to each bound, the bound included; the same order as `bounds`. */
  readonly counts: readonly number[];
  readonly bounds: readonly number[];
  /** All values, also those above the last bound. */
  readonly count: number;
  readonly sum: number;
}

interface Named {
  /** `rdmc_…`; a counter's name ends in `_total`. Units are seconds and bytes, and are part of the name. */
  readonly name: string;
  /** One sentence. */
  readonly help: string;
}

export interface ScalarFamily extends Named {
  readonly type: 'counter' | 'gauge';
  readonly samples: readonly Sample[];
}

export interface HistogramFamily extends Named {
  readonly type: 'histogram';
  readonly samples: readonly HistogramSample[];
}

/** A metric with its samples, one for each combination of label values. */
export type MetricFamily = ScalarFamily | HistogramFamily;
