/**
 * First in, first out, without moving what stays inside: `shift` of an array moves all of it once the array is large. Each
 * call takes constant time on average, allocates nothing but the array's growth, and what was taken out is not held any
 * more. Items must not be undefined.
 */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  /** How many items are inside. */
  get length(): number {
    return this.#items.length - this.#head;
  }

  /** The oldest; undefined where there is none. */
  peek(): T | undefined {
    return this.#items[this.#head];
  }

  /** Adds an item as the newest. */
  push(item: T): void {
    this.#items.push(item);
  }

  /** Takes the oldest out; undefined where there is none. */
  shift(): T | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head === this.#items.length) this.clear();
    else if (this.#head >= 64 && this.#head * 2 >= this.#items.length) this.#compact();
    return item;
  }

  /** Takes out the oldest that fits; looks at each. */
  remove(fits: (item: T) => boolean): T | undefined {
    for (let at = this.#head; at < this.#items.length; at += 1) {
      const item = this.#items[at]!;
      if (fits(item)) {
        this.#items.splice(at, 1);
        return item;
      }
    }
    return undefined;
  }

  /** Removes all items. */
  clear(): void {
    this.#items.length = 0;
    this.#head = 0;
  }

  /** Takes everything out, the oldest first. */
  drain(): T[] {
    const all = [...this];
    this.clear();
    return all;
  }

  /** What is inside, the oldest first. It must not change meanwhile. */
  *[Symbol.iterator](): Generator<T, void> {
    for (let at = this.#head; at < this.#items.length; at += 1) yield this.#items[at]!;
  }

  /** In place: the array is not copied. Half of it is free by now, so each item is moved once on average. */
  #compact(): void {
    const left = this.length;
    for (let at = 0; at < left; at += 1) this.#items[at] = this.#items[this.#head + at];
    this.#items.length = left;
    this.#head = 0;
  }
}
