import { MAX_PENDING_INPUT_BYTES } from '../limits.js';

interface Holder {
  destroy(): void;
}

/**
 * What all clients have sent of commands that are not complete: bounded together. Where it is too much, those go whose
 * command has been incomplete for longest; who sends on and comes to its end is not hurt by those who do not.
 */
export class UnfinishedCommands {
  /** In the order in which their commands began. */
  readonly #bytes = new Map<Holder, number>();
  #total = 0;

  constructor(private readonly mostBytes = MAX_PENDING_INPUT_BYTES) {}

  get totalBytes(): number {
    return this.#total;
  }

  /** 0: it has none. */
  set(holder: Holder, bytes: number): void {
    this.#total += bytes - (this.#bytes.get(holder) ?? 0);
    if (bytes > 0) this.#bytes.set(holder, bytes);
    else this.#bytes.delete(holder);
    while (this.#total > this.mostBytes) {
      const [oldest, held] = this.#bytes.entries().next().value!;
      this.#bytes.delete(oldest);
      this.#total -= held;
      oldest.destroy();
    }
  }
}
