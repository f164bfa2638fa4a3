const ESCAPE = '\u001b[';

/** Draws a few lines over and over in the same place of a terminal. */
export class Repainter {
  #lines: readonly string[] = [];

  constructor(private readonly write: (text: string) => void) {}

  /** Puts these lines where the last ones stood; written as one piece, so that nothing flickers. */
  paint(lines: readonly string[]): void {
    this.write(`${this.#clearing()}${lines.map((line) => `${line}\n`).join('')}`);
    this.#lines = lines;
  }

  /** Runs something that prints lines which stay, and puts the redrawn ones below them. */
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
