import { MultiBar, Presets, type SingleBar } from 'cli-progress';

/** A bar for the server and for each worker on a terminal; plain lines elsewhere. */
export class ProgressView {
  readonly #bars: MultiBar | undefined;
  readonly #byId: SingleBar[] = [];

  constructor(
    private readonly workers: number,
    private readonly write: (line: string) => void,
    stream: NodeJS.WriteStream = process.stderr,
  ) {
    if (!stream.isTTY) return;
    this.#bars = new MultiBar(
      { format: '{name} {bar} {value}/{total} blocks', hideCursor: true, clearOnComplete: true, stream },
      Presets.shades_classic,
    );
  }

  progress(id: number, blocks: number, ofBlocks: number): void {
    if (!this.#bars) return;
    for (let next = this.#byId.length; next <= this.workers; next += 1) {
      const name = next === 0 ? 'server  ' : `worker ${next}`;
      this.#byId.push(this.#bars.create(ofBlocks, 0, { name }));
    }
    this.#byId[id]!.update(blocks);
  }

  /** Prints a line that is not overwritten. */
  line(text: string): void {
    if (this.#bars) this.#bars.log(`${text}\n`);
    else this.write(text);
  }

  stop(): void {
    this.#bars?.stop();
  }
}
