/** Room for a mark at both ends of the axis. */
const MARGIN = 24;
/** Width of a character of a label, and the gap to the next label; about that of the font of page/charts.css. */
const CHARACTER = 7;
const GAP = 6;
/** Labels that have room below columns. */
const MOST_LABELS = 16;

/** The x axis of a chart. */
export interface Axis {
  readonly kind: 'lines' | 'bars';
  readonly x: {
    readonly label: string;
    readonly values: readonly (number | string)[];
    /** Of the numbers below lines. Default: linear. Bars and names have columns of equal width. */
    readonly scale?: 'linear' | 'log2' | undefined;
  };
}

/** Whether values of x are placed by what they are: bars, and names, have columns of equal width. */
function numbersOf({ kind, x }: Axis): number[] | undefined {
  const numbers = x.values.filter((value) => typeof value === 'number');
  return kind === 'lines' && numbers.length === x.values.length ? numbers : undefined;
}

/** The place of each value of x: by its value on the chart's scale, or the middle of its column. */
export function xPlaces(axis: Axis, left: number, right: number): number[] {
  const numbers = numbersOf(axis);
  const count = axis.x.values.length;
  if (numbers === undefined)
    return axis.x.values.map((_, index) => left + ((right - left) * (index + 0.5)) / count);
  const scaled = axis.x.scale === 'log2' ? numbers.map(Math.log2) : numbers;
  const least = Math.min(...scaled);
  const range = Math.max(...scaled) - least;
  const width = right - left - 2 * MARGIN;
  return scaled.map((value) => left + MARGIN + width * (range === 0 ? 0.5 : (value - least) / range));
}

/** Which labels are drawn: from the left, those that do not cover an earlier one. */
export function labelledPlaces(axis: Axis, places: readonly number[], labels: readonly string[]): boolean[] {
  if (numbersOf(axis) === undefined) {
    const every = Math.ceil(places.length / MOST_LABELS);
    return places.map((_, index) => index % every === 0);
  }
  let free = Number.NEGATIVE_INFINITY;
  return places.map((place, index) => {
    const half = (labels[index]!.length * CHARACTER) / 2;
    if (place - half < free) return false;
    free = place + half + GAP;
    return true;
  });
}
