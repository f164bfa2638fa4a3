import type { HistogramFamily, Labels, MetricFamily } from './family.js';

/** The media type of `prometheusText`. */
export const PROMETHEUS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Families in the text format of Prometheus, version 0.0.4. */
export function prometheusText(families: readonly MetricFamily[]): string {
  return families.map(textOf).join('');
}

function textOf(family: MetricFamily): string {
  const { name, help, type } = family;
  const lines = family.type === 'histogram' ? histogramLines(family) : [];
  if (family.type !== 'histogram') {
    for (const { labels, value } of family.samples) lines.push(line(name, labels, value));
  }
  return [`# HELP ${name} ${escapedHelp(help)}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n');
}

function histogramLines({ name, samples }: HistogramFamily): string[] {
  return samples.flatMap(({ labels, bounds, counts, count, sum }) => [
    ...bounds.map((bound, index) => line(`${name}_bucket`, { ...labels, le: number(bound) }, counts[index]!)),
    line(`${name}_bucket`, { ...labels, le: '+Inf' }, count),
    line(`${name}_sum`, labels, sum),
    line(`${name}_count`, labels, count),
  ]);
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapedLabel(text)}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${number(value)}`;
}

function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}

function escapedHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function escapedLabel(text: string): string {
  return escapedHelp(text).replaceAll('"', '\\"');
}
