import { GroupError } from './errors.js';
import type { ReceivedMessage } from './received-message.js';

interface Waiter {
  resolve(result: IteratorResult<ReceivedMessage, undefined>): void;
  reject(error: unknown): void;
}

/** Messages that wait for the application, and the one consumer. What was delivered before an end stays readable. */
export class Inbox {
  readonly #messages: ReceivedMessage[] = [];
  readonly #waiters: Waiter[] = [];
  #taken = false;
  #ended = false;
  #error: unknown;

  constructor(private readonly onTaken: () => void) {}

  get unread(): number {
    return this.#messages.length;
  }

  push(message: ReceivedMessage): void {
    const waiter = this.#waiters.shift();
    if (!waiter) {
      this.#messages.push(message);
      return;
    }
    waiter.resolve({ done: false, value: message });
    this.onTaken();
  }

  /** No message follows; with an error, the consumer gets that after the last one. */
  end(error?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    for (const waiter of this.#waiters.splice(0)) this.#finish(waiter);
  }

  /** @throws GroupError ERR_RDMC_ITERATOR_TAKEN */
  consume(): AsyncIterableIterator<ReceivedMessage> {
    if (this.#taken) {
      throw new GroupError(
        'ERR_RDMC_ITERATOR_TAKEN',
        'The messages of a group have one consumer, and there is one; share what it receives',
      );
    }
    this.#taken = true;
    let over = false;
    const iterator: AsyncIterableIterator<ReceivedMessage> = {
      next: () => (over ? Promise.resolve({ done: true, value: undefined }) : this.#next()),
      return: async () => {
        if (!over) this.#taken = false;
        over = true;
        for (const waiter of this.#waiters.splice(0)) waiter.resolve({ done: true, value: undefined });
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  #next(): Promise<IteratorResult<ReceivedMessage, undefined>> {
    return new Promise((resolve, reject) => {
      const message = this.#messages.shift();
      if (message) {
        resolve({ done: false, value: message });
        this.onTaken();
      } else if (this.#ended) this.#finish({ resolve, reject });
      else this.#waiters.push({ resolve, reject });
    });
  }

  #finish(waiter: Waiter): void {
    if (this.#error === undefined) waiter.resolve({ done: true, value: undefined });
    else waiter.reject(this.#error);
  }
}
