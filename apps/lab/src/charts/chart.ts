import { marker } from './marker.js';
import { linearScale, logScale, type Scale } from './scale.js';
import { escaped } from './text.js';
import { type Axis, labelledPlaces, xPlaces } from './x-places.js';

/** Numbers to draw. A value that does not exist is `null`. */
export interface Chart extends Axis {
  readonly title: string;
  readonly description: string;
  readonly y: { readonly label: string; readonly scale: 'linear' | 'log10'; readonly digits: number };
  readonly series: readonly Series[];
}

export interface Series {
  readonly name: string;
  /** One for each value of x. */
  readonly values: readonly (number | null)[];
  /** Ours, not a rival's: drawn with a thick line. */
  readonly own?: boolean | undefined;
}

const WIDTH = 760;
const HEIGHT = 380;
const PLOT = { left: 92, right: 530, top: 16, bottom: 316 } as const;
const LABEL_HEIGHT = 22;

/** Draws numbers as SVG. Colours are classes of page/charts.css, so that the picture follows the page's light or dark. */
export function chart(drawn: Chart, id: string): string {
  const y = scaleOf(drawn);
  const parts = [axes(drawn, y), drawn.kind === 'lines' ? lines(drawn, y) : bars(drawn, y), legend(drawn, y)];
  const name = `<title id="${id}-t">${escaped(drawn.title)}</title><desc id="${id}-d">${escaped(drawn.description)}</desc>`;
  return `<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="${id}-t ${id}-d">${name}${parts.join('')}</svg>`;
}

function scaleOf({ y, series }: Chart): Scale {
  const values = series.flatMap((each) => each.values).filter((value) => value !== null);
  const largest = Math.max(...values) || 1;
  if (y.scale === 'linear') return linearScale(largest, PLOT.bottom, PLOT.top);
  return logScale(Math.min(...values), largest, PLOT.bottom, PLOT.top);
}

function placesOf(drawn: Chart): number[] {
  return xPlaces(drawn, PLOT.left, PLOT.right);
}

function axes(drawn: Chart, y: Scale): string {
  const rows = y.ticks.map((tick) => {
    const at = round(y.at(tick));
    const text = short(tick, drawn.y.label);
    return `<path class="grid" d="M${PLOT.left} ${at}H${PLOT.right}"/><text class="tick" x="${PLOT.left - 8}" y="${at + 4}" text-anchor="end">${text}</text>`;
  });
  const { label, values } = drawn.x;
  const texts = values.map((value) => (typeof value === 'number' ? short(value, label) : value));
  const places = placesOf(drawn);
  const isLabelled = labelledPlaces(drawn, places, texts);
  const columns = places.map((place, index) => {
    if (!isLabelled[index]) return '';
    return `<text class="tick" x="${round(place)}" y="${PLOT.bottom + 20}" text-anchor="middle">${escaped(texts[index]!)}</text>`;
  });
  const middle = (PLOT.left + PLOT.right) / 2;
  const labels = [
    `<text class="axis" x="${middle}" y="${HEIGHT - 18}" text-anchor="middle">${escaped(label)}</text>`,
    `<text class="axis" transform="translate(18 ${(PLOT.top + PLOT.bottom) / 2}) rotate(-90)" text-anchor="middle">${escaped(drawn.y.label)}</text>`,
  ];
  return [...rows, ...columns, ...labels].join('');
}

function lines(drawn: Chart, y: Scale): string {
  const places = placesOf(drawn);
  return drawn.series
    .map(({ values, own }, number) => {
      const points = values.flatMap((value, index) =>
        value === null ? [] : [{ x: round(places[index]!), y: round(y.at(value)) }],
      );
      const path = `M${points.map((point) => `${point.x} ${point.y}`).join('L')}`;
      const marks = points.map((point) => marker(number, point.x, point.y)).join('');
      return `<g class="series s${number}"><path class="${own ? 'line own' : 'line'}" d="${path}"/>${marks}</g>`;
    })
    .join('');
}

/** From 0 up; a logarithmic axis does not have a 0, so there are marks in place of bars. */
function bars(drawn: Chart, y: Scale): string {
  const places = placesOf(drawn);
  const column = (PLOT.right - PLOT.left) / drawn.x.values.length;
  const width = (column * 0.8) / drawn.series.length;
  const gap = Math.min(2, width / 4);
  return drawn.series
    .map(({ values }, number) => {
      const all = values.map((value, index) => {
        if (value === null) return '';
        const left = places[index]! - column * 0.4 + number * width;
        const top = y.at(value);
        if (drawn.y.scale === 'log10') return marker(number, round(left + width / 2), round(top));
        return `<rect class="bar" x="${round(left)}" y="${round(top)}" width="${round(width - gap)}" height="${round(PLOT.bottom - top)}"/>`;
      });
      return `<g class="series s${number}">${all.join('')}</g>`;
    })
    .join('');
}

/** Names at the right, as near as possible to the last values of their lines. */
function legend({ series, kind }: Chart, y: Scale): string {
  const wanted = series.map(({ values }, number) => {
    const last = values.findLast((value) => value !== null);
    const isLine = kind === 'lines' && last !== undefined && last !== null;
    return { number, at: isLine ? y.at(last) : PLOT.top + LABEL_HEIGHT * (number + 0.5) };
  });
  wanted.sort((a, b) => a.at - b.at);
  let next = PLOT.top;
  const rows = wanted.map(({ number, at }, index) => {
    const room = PLOT.bottom - LABEL_HEIGHT * (wanted.length - index - 1);
    const row = Math.min(room, Math.max(next, at));
    next = row + LABEL_HEIGHT;
    return `<g class="series s${number}">${marker(number, PLOT.right + 18, round(row))}</g><text class="name" x="${PLOT.right + 30}" y="${round(row + 4)}">${escaped(series[number]!.name)}</text>`;
  });
  return rows.join('');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

const BINARY = [
  [2 ** 30, 'Gi'],
  [2 ** 20, 'Mi'],
  [2 ** 10, 'Ki'],
] as const;
const DECIMAL = [
  [1e6, 'M'],
  [1e3, 'k'],
] as const;

/** 1000 as `1k`; 1048576 bytes as `1Mi`. */
function short(value: number, label: string): string {
  for (const [unit, name] of [...(label.includes('bytes') ? BINARY : []), ...DECIMAL]) {
    if (value >= unit && value % unit === 0) return `${value / unit}${name}`;
  }
  return `${value}`;
}
