import { expect, it } from 'vitest';
import { type Chart, chart } from '../src/charts/chart.js';

const LINES: Chart = {
  title: 'T',
  description: 'D.',
  kind: 'lines',
  x: { label: 'members', values: [1, 2, 4, 8, 1024] },
  y: { label: 'seconds', scale: 'linear', digits: 1 },
  series: [{ name: 's', values: [1, 1, 1, 1, 1] }],
};

/** The places of the marks of the series, from left to right. */
function places(drawn: Chart): number[] {
  const [, line] = /<path class="line[^"]*" d="M([^"]*)"/.exec(chart(drawn, 'x'))!;
  return line!.split('L').map((point) => Number(point.split(' ')[0]));
}

const gaps = (values: readonly number[]) => values.slice(1).map((value, index) => value - values[index]!);
const withX = (x: Partial<Chart['x']>, y: Partial<Chart['y']> = {}): Chart => ({
  ...LINES,
  x: { ...LINES.x, ...x },
  y: { ...LINES.y, ...y },
});
const labels = (svg: string) => [...svg.matchAll(/y="336"[^>]*>([^<]*)</g)].map((match) => match[1]);

it('numbers of a line have distances as their values have', () => {
  const [one, two, three] = gaps(places(withX({ values: [1, 5, 10, 99, 100] })));
  expect(two! / one!).toBeCloseTo(5 / 4, 1);
  expect(three! / one!).toBeCloseTo(89 / 4, 0);
});

it('on a logarithmic scale numbers with the same ratio have the same distance', () => {
  const [one, two, three, four] = gaps(places(withX({ scale: 'log2' })));
  expect(two).toBeCloseTo(one!, 0);
  expect(three).toBeCloseTo(one!, 0);
  expect(four! / one!).toBeCloseTo(7, 1);
});

it('names, and the columns of bars, have equal distances', () => {
  expect(new Set(gaps(places(withX({ values: ['a', 'b', 'c', 'd', 'e'] }))).map(Math.round))).toEqual(
    new Set([88]),
  );
  const bars = chart({ ...LINES, kind: 'bars' }, 'x');
  const left = [...bars.matchAll(/<rect class="bar" x="([\d.]+)"/g)].map((match) => Number(match[1]));
  expect(new Set(gaps(left).map(Math.round))).toEqual(new Set([88]));
});

it('one number has a place', () => {
  const one = { ...LINES, x: { ...LINES.x, values: [7] }, series: [{ name: 's', values: [1] }] };
  expect(places(one)).toEqual([311]);
});

it('labels that would cover one another are left out', () => {
  const svg = chart(withX({ values: [1, 2, 3, 900_000, 1_000_000] }), 'x');
  expect(labels(svg)).toEqual(['1', '900k', '1M']);
});

it('binary units are for bytes only', () => {
  expect(labels(chart(withX({ scale: 'log2' }), 'x'))).toContain('1024');
  expect(labels(chart(withX({ scale: 'log2', label: 'bytes of a message' }), 'x'))).toContain('1Ki');
});

it('bars begin at 0; a logarithmic axis has marks in their place', () => {
  const drawn = (scale: 'linear' | 'log10') =>
    chart(
      {
        ...withX({ values: ['a', 'b'] }, { scale }),
        kind: 'bars',
        series: [{ name: 's', values: [10, 20] }],
      },
      'x',
    );
  const [first, second] = [...drawn('linear').matchAll(/<rect [^>]*height="([\d.]+)"/g)].map((match) =>
    Number(match[1]),
  );
  expect(second! / first!).toBeCloseTo(2, 1);
  expect(drawn('log10')).not.toContain('<rect');
  // Two values, and the name.
  expect(drawn('log10').match(/<circle /g)).toHaveLength(3);
});
