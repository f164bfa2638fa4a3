export { type MetricsAddress, parseMetricsAddress } from './address.js';
export { MetricsError, type MetricsErrorCode, metricsErrors } from './errors.js';
export type {
  HistogramFamily,
  HistogramSample,
  Labels,
  MetricFamily,
  Sample,
  ScalarFamily,
} from './family.js';
export type { Counter, Histogram, ReadValue, RecordListener } from './instruments.js';
export { Metrics, type MetricsOptions } from './metrics.js';
export type { MeasuredNode } from './node-reading.js';
export { OPERATIONS } from './operations.js';
export { PROMETHEUS_CONTENT_TYPE, prometheusText } from './prometheus-text.js';
export { MetricsServer, type ServeMetricsOptions, serveMetrics } from './serve.js';
