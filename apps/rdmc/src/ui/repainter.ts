const ESCAPE = '\u001b[';

/** Redraws a few lines in the same place of a terminal. */
export class Repainter {
  #lines: readonly string[] = [];

  constructor(private readonly write: (text: string) => void) {}

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
    return this.#lines.length > 0 ? `\r${ESCAPE}${this.#lines.length}A${ESCAPE}0J` : '';
  }
}
