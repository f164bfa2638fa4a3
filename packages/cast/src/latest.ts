import { CastError } from './errors.js';

/** An async iterable of snapshots with one consumer, who always gets the latest: older ones are dropped. */
export class Latest<T> implements AsyncIterable<T> {
  #value: T | undefined;
  #fresh = false;
  #ended = false;
  #taken = false;
  #wake: (() => void) | undefined;

  /** The latest snapshot, whether the consumer has had it or not. */
  get value(): T | undefined {
    return this.#value;
  }

  set(value: T): void {
    if (this.#ended) return;
    this.#value = value;
    this.#fresh = true;
    this.#wake?.();
  }

  /** The consumer gets what it has not seen yet, and then the end. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** @throws CastError ERR_RDMC_ITERATOR_TAKEN */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    if (this.#taken) {
      throw new CastError(
        'ERR_RDMC_ITERATOR_TAKEN',
        'The progress of a cast has one consumer, and there is one',
      );
    }
    this.#taken = true;
    try {
      for (;;) {
        if (this.#fresh) {
          this.#fresh = false;
          yield this.#value as T;
        } else if (this.#ended) return;
        else await this.#change();
      }
    } finally {
      this.#taken = false;
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }
}
