/** Work that is done one after the other, in the order in which it came. */
export class Turns {
  readonly #work: (() => void)[] = [];

  /** Runs `start` when it is its turn. The turn lasts until `end`. */
  take(start: () => void): void {
    this.#work.push(start);
    if (this.#work.length === 1) start();
  }

  /** Ends the turn, and starts the next one. */
  end(): void {
    this.#work.shift();
    this.#work[0]?.();
  }
}
