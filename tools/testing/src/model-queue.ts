/** A queue of numbers in a part of a model's state: its length, then its items, then zeros. */
export class ModelQueue {
  /** All items, and the zeros behind them. A model may change items in place. */
  readonly items: Int32Array;

  constructor(private readonly part: Int32Array) {
    this.items = part.subarray(1);
  }

  get length(): number {
    return this.part[0]!;
  }

  /** @throws if the queue is full: the model needs a longer one */
  push(...values: readonly number[]): void {
    for (const value of values) {
      if (this.length === this.items.length) throw new Error('the model needs a longer queue');
      this.items[this.length] = value;
      this.part[0]! += 1;
    }
  }

  /** Takes the first item out. The queue has one. */
  shift(): number {
    const value = this.items[0]!;
    this.items.copyWithin(0, 1);
    this.items[this.items.length - 1] = 0;
    this.part[0]! -= 1;
    return value;
  }

  clear(): void {
    this.part.fill(0);
  }

  includes(value: number): boolean {
    return this.items.subarray(0, this.length).includes(value);
  }

  [Symbol.iterator](): Iterator<number> {
    return this.items.subarray(0, this.length)[Symbol.iterator]();
  }
}
