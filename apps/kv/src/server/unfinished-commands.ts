import { MAX_PENDING_INPUT_BYTES } from '../limits.js';

interface Holder {
  destroy(): void;
}

/**
 * Bounds the bytes of all clients' incomplete commands together. Beyond the bound, the client whose command has been
 * incomplete for longest is disconnected, so clients that complete their commands are not affected by others.
 */
export class UnfinishedCommands {
  /** In the order in which their commands began. */
  readonly #bytes = new Map<Holder, number>();
  #total = 0;

  constructor(private readonly mostBytes = MAX_PENDING_INPUT_BYTES) {}

  get totalBytes(): number {
    return this.#total;
  }

  /** @param bytes of the incomplete command; 0: no command is incomplete */
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
