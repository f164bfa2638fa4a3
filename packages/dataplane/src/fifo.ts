/** A first-in first-out queue whose `shift` does not move what stays. */
export class Fifo<Item> {
  #items: Item[] = [];
  #first = 0;

  get length(): number {
    return this.#items.length - this.#first;
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  peek(): Item | undefined {
    return this.#items[this.#first];
  }

  shift(): Item | undefined {
    if (this.#first === this.#items.length) return undefined;
    const item = this.#items[this.#first];
    this.#first += 1;
    if (this.#first >= 1024 && this.#first * 2 >= this.#items.length) {
      this.#items.splice(0, this.#first);
      this.#first = 0;
    }
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#first = 0;
  }
}
