import { MetricsError } from './errors.js';
import type { Labels } from './family.js';

const METRIC = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
/** Names that begin with two underscores are Prometheus' own. */
const LABEL = /^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/;

/** @throws MetricsError ERR_RDMC_METRICS_NAME */
export function checkMetricName(name: string, type: 'counter' | 'gauge' | 'histogram'): string {
  if (typeof name !== 'string' || !METRIC.test(name)) {
    throw invalid(
      `'${String(name)}' is not a name of a metric: use letters, digits and _, and no digit first`,
    );
  }
  if ((type === 'counter') === name.endsWith('_total')) return name;
  throw invalid(
    type === 'counter'
      ? `'${name}' is a counter: its name ends in _total`
      : `'${name}' is a ${type}: only names of counters end in _total`,
  );
}

/** @throws MetricsError ERR_RDMC_METRICS_NAME */
export function checkLabels(labels: Labels, reserved: readonly string[] = []): Labels {
  for (const [name, value] of Object.entries(labels)) {
    if (!LABEL.test(name)) {
      throw invalid(
        `'${name}' is not a name of a label: use letters, digits and _, no digit first, and not __ at the beginning`,
      );
    }
    if (reserved.includes(name))
      throw invalid(`the label '${name}' is set by this package; use another name`);
    if (typeof value !== 'string') throw invalid(`the label '${name}' must be text, not ${String(value)}`);
  }
  return labels;
}

/** Equal for equal labels, in any order. */
export function labelKey(labels: Labels): string {
  const names = Object.keys(labels);
  if (names.length < 2) return names.map((name) => JSON.stringify([name, labels[name]])).join();
  return names
    .sort()
    .map((name) => JSON.stringify([name, labels[name]]))
    .join();
}

function invalid(message: string): MetricsError {
  return new MetricsError('ERR_RDMC_METRICS_NAME', message);
}
