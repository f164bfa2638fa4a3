import { Fifo } from './fifo.js';

/** The rules of a {@link SingleConsumer}. */
export interface SingleConsumerOptions<T> {
  /** Makes the error for a second consumer. */
  readonly taken: () => Error;
  /** Called when the consumer has got an item. */
  readonly onTaken?: (item: T) => void;
  /** Whether an item that waits is of no use once `next` is there: it is dropped. */
  readonly replaces?: (next: T, waiting: T) => boolean;
  /** Items that may wait; of more the oldest is dropped. Default: no limit. */
  readonly most?: number;
}

interface Waiter<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A queue whose items one consumer iterates. What was pushed before an end is still read, and then comes the end, or its
 * error. A consumer that leaves, or has come to the end, makes room for another one, which goes on where the first one left.
 * Items must not be undefined. Nobody is told of a dropped one: what owns something needs a queue without `most` and
 * `replaces`.
 */
export class SingleConsumer<T> implements AsyncIterable<T> {
  readonly #items = new Fifo<T>();
  readonly #waiters = new Fifo<Waiter<T>>();
  #iterated = false;
  #end: { readonly error: unknown } | undefined;

  constructor(private readonly options: SingleConsumerOptions<T>) {}

  /** Items that nobody has read. */
  get unread(): number {
    return this.#items.length;
  }

  /** An item that comes after the end waits for the next consumer, if there is one. */
  push(item: T): void {
    const waiter = this.#waiters.shift();
    if (waiter) {
      waiter.resolve({ done: false, value: item });
      this.options.onTaken?.(item);
      return;
    }
    const { replaces, most } = this.options;
    if (replaces) this.#items.remove((waiting) => replaces(item, waiting));
    this.#items.push(item);
    if (most !== undefined && this.#items.length > most) this.#items.shift();
  }

  /** No item follows; with an error, the consumer gets that after the last one. The first call counts. */
  end(error?: unknown): void {
    if (this.#end) return;
    this.#end = { error };
    for (const waiter of this.#waiters.drain()) this.#finish(waiter);
  }

  /** The items are reserved for this iterator until it ends or is left. @throws what `taken` makes */
  [Symbol.asyncIterator](): AsyncIterableIterator<T, undefined> {
    if (this.#iterated) throw this.options.taken();
    this.#iterated = true;
    let over = false;
    const iterator: AsyncIterableIterator<T, undefined> = {
      next: () => (over ? Promise.resolve({ done: true, value: undefined }) : this.#next()),
      return: async () => {
        if (!over) this.#iterated = false;
        over = true;
        for (const waiter of this.#waiters.drain()) waiter.resolve({ done: true, value: undefined });
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  #next(): Promise<IteratorResult<T, undefined>> {
    return new Promise((resolve, reject) => {
      const item = this.#items.shift();
      if (item !== undefined) {
        resolve({ done: false, value: item });
        this.options.onTaken?.(item);
      } else if (this.#end) this.#finish({ resolve, reject });
      else this.#waiters.push({ resolve, reject });
    });
  }

  #finish({ resolve, reject }: Waiter<T>): void {
    this.#iterated = false;
    if (this.#end?.error === undefined) resolve({ done: true, value: undefined });
    else reject(this.#end.error);
  }
}
