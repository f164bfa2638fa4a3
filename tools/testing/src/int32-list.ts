/** Numbers in the order in which they were added, without an object for each. */
export class Int32List {
  #items = new Int32Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#items.length) {
      const longer = new Int32Array(2 * this.#length);
      longer.set(this.#items);
      this.#items = longer;
    }
    this.#items[this.#length] = value;
    this.#length += 1;
  }

  at(index: number): number {
    return this.#items[index]!;
  }
}
