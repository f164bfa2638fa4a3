import { type MetricFamily, Metrics, prometheusText } from '@rdmc/metrics';
import { thrown } from '@rdmc/testing';
import fc from 'fast-check';
import parse from 'parse-prometheus-text-format';
import { describe, expect, it } from 'vitest';

/** Metrics without those of rdmc. */
function plain(labels: Record<string, string> = {}): Metrics {
  return new Metrics({ operations: [], labels });
}

/** What an independent parser finds, by name. */
function parsed(
  text: string,
): Map<string, { type: string; help: string; metrics: Record<string, unknown>[] }> {
  return new Map(parse(text).map((family) => [family.name, family]));
}

describe('the text for Prometheus', () => {
  it('is what an independent parser reads back', () => {
    const metrics = plain();
    metrics.counter('a_total', 'Counts a.').add(3, { kind: 'x' });
    metrics.gauge('b', 'Has b.', () => [
      { labels: {}, value: -0.5 },
      { labels: { l: '1' }, value: Number.POSITIVE_INFINITY },
    ]);
    const histogram = metrics.histogram('c_seconds', 'Times c.', [0.1, 1]);
    for (const value of [0.05, 0.1, 0.5, 7]) histogram.record(value);
    const found = parsed(metrics.text());
    expect(found.get('a_total')).toMatchObject({
      type: 'COUNTER',
      help: 'Counts a.',
      metrics: [{ value: '3', labels: { kind: 'x' } }],
    });
    expect(found.get('b')).toMatchObject({
      type: 'GAUGE',
      metrics: [{ value: '-0.5' }, { value: '+Inf', labels: { l: '1' } }],
    });
    expect(found.get('c_seconds')).toMatchObject({
      type: 'HISTOGRAM',
      metrics: [{ buckets: { 0.1: '2', 1: '3', '+Inf': '4' }, count: '4', sum: '7.65' }],
    });
    expect(found.get('rdmc_nodes')).toMatchObject({ type: 'GAUGE', metrics: [{ value: '0' }] });
  });

  it('is that of the format, byte for byte', () => {
    const families: MetricFamily[] = [
      { name: 'x_total', help: 'A \\ and\na line.', type: 'counter', samples: [{ labels: {}, value: 1e21 }] },
      { name: 'y', help: '', type: 'gauge', samples: [{ labels: { a: '"\\\n', b: '' }, value: Number.NaN }] },
      { name: 'z', help: 'None.', type: 'gauge', samples: [] },
    ];
    expect(prometheusText(families)).toBe(
      [
        '# HELP x_total A \\\\ and\\na line.',
        '# TYPE x_total counter',
        'x_total 1e+21',
        '# HELP y ',
        '# TYPE y gauge',
        'y{a="\\"\\\\\\n",b=""} NaN',
        '# HELP z None.',
        '# TYPE z gauge',
        '',
      ].join('\n'),
    );
  });

  it('carries any label values', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 4 }), (values) => {
        const metrics = plain();
        const counter = metrics.counter('a_total', 'Counts a.');
        for (const value of values) counter.add(1, { value });
        const text = metrics.text();
        // One line for each sample: no value begins a line of its own.
        const lines = text.split('\n').filter((line) => line.startsWith('a_total{'));
        expect(lines).toHaveLength(new Set(values).size);
        const read = lines.map((line) => unescaped(/^a_total\{value="(.*)"\} \d+$/su.exec(line)![1]!));
        expect(new Set(read)).toEqual(new Set(values));
      }),
    );
  });

  it('has the labels of all samples', () => {
    const metrics = plain({ cluster: 'a' });
    metrics.counter('a_total', 'Counts a.').add(1, { kind: 'x' });
    metrics.histogram('b', 'Has b.', [1]).record(0);
    const text = metrics.text();
    expect(text).toContain('a_total{cluster="a",kind="x"} 1\n');
    expect(text).toContain('b_bucket{cluster="a",le="1"} 1\n');
    expect(text).toContain('rdmc_nodes{cluster="a"} 0\n');
  });
});

describe('instruments', () => {
  it('are refused with wrong names, labels, bounds and values', () => {
    const metrics = plain();
    const name = { name: 'MetricsError', code: 'ERR_RDMC_METRICS_NAME' };
    const option = { code: 'ERR_RDMC_INVALID_OPTION' };
    for (const wrong of ['', '1_total', 'a-b_total', 'a', 'ä_total']) {
      expect(thrown(() => metrics.counter(wrong, ''))).toMatchObject(name);
    }
    expect(thrown(() => metrics.gauge('a_total', '', () => 1))).toMatchObject(name);
    const counter = metrics.counter('a_total', '');
    expect(thrown(() => metrics.gauge('rdmc_nodes', '', () => 1))).toMatchObject({
      code: 'ERR_RDMC_METRICS_EXISTS',
    });
    for (const label of ['', '1', 'a-b', '__a', 'a:b']) {
      expect(thrown(() => counter.add(1, { [label]: 'x' }))).toMatchObject(name);
    }
    expect(thrown(() => counter.add(1, { a: 1 as never }))).toMatchObject(name);
    for (const value of [-1, Number.NaN]) expect(thrown(() => counter.add(value))).toMatchObject(option);
    for (const bounds of [[], [1, 1], [2, 1], [Number.POSITIVE_INFINITY]]) {
      expect(thrown(() => metrics.histogram('h', '', bounds))).toMatchObject(option);
    }
    const histogram = metrics.histogram('h', '', [1]);
    expect(thrown(() => histogram.record(Number.NaN))).toMatchObject(option);
    expect(thrown(() => histogram.record(1, { le: '1' }))).toMatchObject(name);
    expect(thrown(() => new Metrics({ watch: true } as never))).toMatchObject({
      code: 'ERR_RDMC_UNKNOWN_OPTION',
    });
    for (const operations of ['group:send', ['send'], [1]]) {
      expect(thrown(() => new Metrics({ operations } as never))).toMatchObject(option);
    }
  });

  it('count labels in any order as one', () => {
    const metrics = plain();
    const counter = metrics.counter('a_total', '');
    counter.add(1, { a: '1', b: '2' });
    counter.add(2, { b: '2', a: '1' });
    expect(counter.family().samples).toEqual([{ labels: { a: '1', b: '2' }, value: 3 }]);
  });
});

function unescaped(text: string): string {
  return text.replace(/\\(.)/gsu, (_, letter) => (letter === 'n' ? '\n' : letter));
}
