/** Functions that close parts, the last part first. */
export class CloseStack {
  readonly #closers: (() => unknown)[] = [];

  /** The function is called before those that were added earlier. */
  add(close: () => unknown): void {
    this.#closers.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }
}
