import { Fifo } from './fifo.js';

/** The rules of a {@link SingleConsumer}. */
export interface SingleConsumerOptions<T> {
  /** Makes the error for a second consumer. */
  readonly taken: () => Error;
  /** Called when the consumer has got an item. */
  readonly onTaken?: (item: T) => void;
  /** Called when the consumer wants an item and none waits, before it waits itself: it may push items. */
  readonly refill?: () => void;
  /** Whether an item that waits is of no use once `next` is there: it is dropped. */
  readonly replaces?: (next: T, waiting: T) => boolean;
  /** Items that may wait; of more the oldest is dropped. Default: no limit. */
  readonly most?: number;
}

interface Waiter {
  /** Takes items: there are some. */
  readonly serve: () => void;
  /** The end of the iteration. */
  readonly finish: () => void;
  readonly reject: (error: unknown) => void;
}

type Result<V> = IteratorResult<V, undefined>;
const DONE = { done: true, value: undefined } as const;

/**
 * A queue whose items one consumer iterates. What was pushed before an end is still read, and then comes the end, or its
 * error. A consumer that leaves, or has come to the end, makes room for another one, which goes on where the first one left.
 * Items must not be undefined. Nobody is told of a dropped one: what owns something needs a queue without `most` and
 * `replaces`.
 */
export class SingleConsumer<T> implements AsyncIterable<T> {
  readonly #items = new Fifo<T>();
  readonly #waiters = new Fifo<Waiter>();
  #iterated = false;
  /** The consumer iterates batches. */
  #isLazy = false;
  #isScheduled = false;
  #end: { readonly error: unknown } | undefined;

  constructor(private readonly options: SingleConsumerOptions<T>) {}

  /** Items that nobody has read. */
  get unread(): number {
    return this.#items.length;
  }

  /** Whether the consumer waits for an item. */
  get awaited(): boolean {
    return this.#waiters.length > 0;
  }

  /** An item that comes after the end waits for the next consumer, if there is one. */
  push(item: T): void {
    const { replaces, most } = this.options;
    if (replaces) this.#items.remove((waiting) => replaces(item, waiting));
    this.#items.push(item);
    if (this.#waiters.length > 0) this.#announce();
    if (most !== undefined && this.#items.length > most) this.#items.shift();
  }

  /** No item follows; with an error, the consumer gets that after the last one. The first call counts. */
  end(error?: unknown): void {
    if (this.#end) return;
    this.#end = { error };
    this.#serve();
    for (const waiter of this.#waiters.drain()) this.#finish(waiter);
  }

  /** The items are reserved for this iterator until it ends or is left. @throws what `taken` makes */
  [Symbol.asyncIterator](): AsyncIterableIterator<T, undefined> {
    return this.#iterate(() => this.#takeOne(), false);
  }

  /**
   * As the iterator, with all items that wait at once, `most` at the most; a batch is never empty. A consumer that waits
   * gets all items that one piece of synchronous code pushes. @throws what `taken` makes
   */
  batches(most: number): AsyncIterableIterator<T[], undefined> {
    return this.#iterate(() => this.#takeMany(most), true);
  }

  #iterate<V>(take: () => V | undefined, isLazy: boolean): AsyncIterableIterator<V, undefined> {
    if (this.#iterated) throw this.options.taken();
    this.#iterated = true;
    this.#isLazy = isLazy;
    let over = false;
    const iterator: AsyncIterableIterator<V, undefined> = {
      next: () => (over ? Promise.resolve<Result<V>>(DONE) : this.#next(take)),
      return: async () => {
        if (!over) this.#iterated = false;
        over = true;
        for (const waiter of this.#waiters.drain()) waiter.finish();
        return DONE;
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  #next<V>(take: () => V | undefined): Promise<Result<V>> {
    if (this.#items.length === 0) this.options.refill?.();
    const value = take();
    if (value !== undefined) return Promise.resolve<Result<V>>({ done: false, value });
    return new Promise((resolve, reject) => {
      const serve = (): void => resolve({ done: false, value: take()! });
      const waiter = { serve, finish: () => resolve(DONE), reject };
      if (this.#end) this.#finish(waiter);
      else this.#waiters.push(waiter);
    });
  }

  /** A consumer of batches gets all items that one piece of synchronous code pushes: it is woken in a microtask. */
  #announce(): void {
    if (!this.#isLazy) {
      this.#serve();
      return;
    }
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#serve();
    });
  }

  #serve(): void {
    while (this.#items.length > 0 && this.#waiters.length > 0) this.#waiters.shift()!.serve();
  }

  #takeOne(): T | undefined {
    const item = this.#items.shift();
    if (item !== undefined) this.options.onTaken?.(item);
    return item;
  }

  #takeMany(most: number): T[] | undefined {
    const { onTaken } = this.options;
    const count = Math.min(most, this.#items.length);
    if (count === 0) return undefined;
    const items: T[] = [];
    for (let i = 0; i < count; i += 1) items.push(this.#items.shift()!);
    if (onTaken) for (const item of items) onTaken(item);
    return items;
  }

  #finish(waiter: Waiter): void {
    this.#iterated = false;
    if (this.#end?.error === undefined) waiter.finish();
    else waiter.reject(this.#end.error);
  }
}
