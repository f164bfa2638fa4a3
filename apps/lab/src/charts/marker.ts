const SHAPES: readonly ((x: number, y: number) => string)[] = [
  (x, y) => `<circle class="mark" cx="${x}" cy="${y}" r="5"/>`,
  (x, y) => `<path class="mark" d="M${x - 5} ${y - 5}h10v10h-10z"/>`,
  (x, y) => `<path class="mark" d="M${x} ${y - 6}l6 11h-12z"/>`,
  (x, y) => `<path class="mark" d="M${x} ${y - 7}l7 7l-7 7l-7 -7z"/>`,
  (x, y) => `<path class="mark" d="M${x} ${y + 6}l6 -11h-12z"/>`,
];

/** The mark of a series: its shape tells it from others without its colour. */
export function marker(series: number, x: number, y: number): string {
  return SHAPES[series % SHAPES.length]!(x, y);
}
