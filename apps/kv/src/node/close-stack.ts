/** What must be closed, the last first. */
export class CloseStack {
  readonly #closers: (() => unknown)[] = [];

  /** Closes it before all that was added earlier. */
  add(close: () => unknown): void {
    this.#closers.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }
}
