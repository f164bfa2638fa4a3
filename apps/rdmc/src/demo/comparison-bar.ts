import { SingleBar } from 'cli-progress';
import type { Terminal } from '../ui/terminal.js';

/** Shows the progress of the comparison on a terminal; removed when it is over. */
export class ComparisonBar {
  readonly #bar: SingleBar | undefined;

  constructor(terminal: Terminal, json: boolean) {
    if (json || !terminal.interactive) return;
    this.#bar = new SingleBar({
      format: `  comparing ${terminal.palette.cyan('{bar}')} {algorithm}`,
      barCompleteChar: '█',
      barIncompleteChar: '░',
      barsize: 30,
      hideCursor: true,
      clearOnComplete: true,
      gracefulExit: false,
      stream: process.stdout,
    });
    this.#bar.start(1, 0, { algorithm: '' });
  }

  /** `share` of the work is done, from 0 to 1. */
  show(share: number, algorithm: string): void {
    this.#bar?.update(share, { algorithm });
  }

  stop(): void {
    this.#bar?.stop();
  }
}
