/** Maps values to places, and chooses the values to label. */
export interface Scale {
  at(value: number): number;
  readonly ticks: readonly number[];
}

/** From 0 to a round number above the largest value. */
export function linearScale(largest: number, start: number, end: number): Scale {
  const unit = roundUp(largest / 5);
  const count = Math.ceil(largest / unit);
  return {
    at: (value) => start + ((end - start) * value) / (unit * count),
    ticks: Array.from({ length: count + 1 }, (_, index) => Number((index * unit).toPrecision(6))),
  };
}

/** From the power of 10 below the least value to the one above the largest. */
export function logScale(least: number, largest: number, start: number, end: number): Scale {
  const first = Math.floor(Math.log10(least));
  // One value that is a power of 10 has a decade, too.
  const last = Math.max(first + 1, Math.ceil(Math.log10(largest)));
  return {
    at: (value) => start + ((end - start) * (Math.log10(value) - first)) / (last - first),
    ticks: Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index)),
  };
}

/** 1, 2 or 5 times a power of 10. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
}
