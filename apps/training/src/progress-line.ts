import { Presets, SingleBar } from 'cli-progress';

/** One line on a terminal that shows the steps; plain lines for other output. */
export class ProgressLine {
  readonly #bar: SingleBar | undefined;

  constructor(
    steps: number,
    private readonly write: (line: string) => void,
    private readonly stream: NodeJS.WriteStream = process.stderr,
  ) {
    if (!stream.isTTY) return;
    const format = 'training {bar} step {value}/{total}';
    this.#bar = new SingleBar(
      { format, hideCursor: true, clearOnComplete: true, stream },
      Presets.shades_classic,
    );
    this.#bar.start(steps, 0);
  }

  step(step: number): void {
    this.#bar?.update(step);
  }

  /** Prints a line that is not overwritten. */
  line(text: string): void {
    // The bar is drawn again below it.
    if (this.#bar) this.stream.write('\r\u001b[K');
    this.write(text);
  }

  stop(): void {
    this.#bar?.stop();
  }
}
