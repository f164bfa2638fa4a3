import { visibleWidth } from './palette.js';

const ESCAPE = '\u001b[';

/**
 * Redraws a few lines in the same place of a terminal. Lines that became longer than the window, because somebody made
 * it narrower, take several rows of it.
 */
export class Repainter {
  #lines: readonly string[] = [];

  constructor(
    private readonly write: (text: string) => void,
    private readonly columns: () => number = () => Number.POSITIVE_INFINITY,
  ) {}

  /** Replaces the previous lines with these, in one write, so that the terminal does not flicker. */
  paint(lines: readonly string[]): void {
    this.write(`${this.#clearing()}${lines.map((line) => `${line}\n`).join('')}`);
    this.#lines = lines;
  }

  /** Calls `print`, which prints permanent lines, and redraws the replaceable lines below them. */
  around(print: () => void): void {
    const lines = this.#lines;
    this.paint([]);
    print();
    this.paint(lines);
  }

  #clearing(): string {
    const columns = this.columns();
    const rows = this.#lines.reduce(
      (sum, line) => sum + Math.max(1, Math.ceil(visibleWidth(line) / columns)),
      0,
    );
    return rows > 0 ? `\r${ESCAPE}${rows}A${ESCAPE}0J` : '';
  }
}
