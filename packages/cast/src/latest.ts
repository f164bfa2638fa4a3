import { SingleConsumer } from '@rdmc/common';
import { CastError } from './errors.js';

/** An async iterable of snapshots with one consumer, which always gets the latest: older ones are dropped. */
export class Latest<T> implements AsyncIterable<T> {
  readonly #unread = new SingleConsumer<T>({
    replaces: () => true,
    taken: () => {
      const message = 'this progress is being iterated already; share what the first iterator yields';
      return new CastError('ERR_RDMC_ITERATOR_TAKEN', message);
    },
  });
  #value: T | undefined;
  #ended = false;

  /** The latest snapshot, whether the consumer has had it or not. */
  get value(): T | undefined {
    return this.#value;
  }

  set(value: T): void {
    if (this.#ended) return;
    this.#value = value;
    this.#unread.push(value);
  }

  /** The consumer gets the latest snapshot, if it has not seen it, and then the end. */
  end(): void {
    this.#ended = true;
    this.#unread.end();
  }

  /** @throws CastError ERR_RDMC_ITERATOR_TAKEN */
  [Symbol.asyncIterator](): AsyncIterableIterator<T, undefined> {
    return this.#unread[Symbol.asyncIterator]();
  }
}
