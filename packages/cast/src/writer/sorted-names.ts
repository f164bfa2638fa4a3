/**
 * Names in a directory, added in the order of their bytes. Unlike a `Set`, which has at most 2^24 items, it takes as many
 * as there is memory for.
 */
export class SortedNames {
  readonly #names: string[] = [];

  /** As latin1; after all names so far. */
  add(name: string): void {
    this.#names.push(name);
  }

  has(name: string): boolean {
    let [first, end] = [0, this.#names.length];
    while (first < end) {
      const middle = (first + end) >> 1;
      if (this.#names[middle]! < name) first = middle + 1;
      else end = middle;
    }
    return this.#names[first] === name;
  }

  [Symbol.iterator](): IterableIterator<string> {
    return this.#names.values();
  }
}
