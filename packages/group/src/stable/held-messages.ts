import { Fifo } from '@rdmc/common';
import { MIB } from '../constants.js';

/** While that much is held, no further small messages are copied out of the ring. */
const MOST_MESSAGES = 16_384;
const MOST_BYTES = 4 * MIB;

/**
 * Messages that this member has whole and in order, and that some other member may lack. The limit cannot block a group: the
 * member that has the fewest messages holds none once it knows the others' counts.
 */
export class HeldMessages<T extends { readonly byteLength: number }> {
  readonly #messages = new Fifo<T>();
  #bytes = 0;

  constructor(private readonly deliver: (message: T) => void) {}

  get length(): number {
    return this.#messages.length;
  }

  get isFull(): boolean {
    return this.#messages.length >= MOST_MESSAGES || this.#bytes >= MOST_BYTES;
  }

  push(message: T): void {
    this.#messages.push(message);
    this.#bytes += message.byteLength;
  }

  /** Delivers the next `count` messages, or as many as there are. */
  release(count: number): void {
    for (let left = count; left > 0; left -= 1) {
      const message = this.#messages.shift();
      if (message === undefined) return;
      this.#bytes -= message.byteLength;
      this.deliver(message);
    }
  }

  /** Takes out what was not delivered. */
  drain(): T[] {
    this.#bytes = 0;
    return this.#messages.drain();
  }
}
