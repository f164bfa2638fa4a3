import { Fifo } from '@rdmc/common';

/** A message with its number in the group: modulo 2^32 until it leaves the merge, then its position from 0. */
export interface Numbered {
  readonly number: number;
  numberAs(position: number): void;
}

/** The root gave a number that is not in order. */
export class OrderViolation extends Error {
  override readonly name = 'OrderViolation';
}

/** The paths of messages. Each keeps the order of its messages. */
export const Path = { SMALL: 0, BLOCKS: 1 } as const;

const NAMES = ['small messages', 'blocks'] as const;

/**
 * One order out of two paths: messages leave it by number, from 0 without a gap. A message that waits for an earlier one of the
 * other path waits here, after its ring or its slot of the schedule is free: neither path waits for memory of the other.
 */
export class OrderMerge<T extends Numbered> {
  readonly #paths = [new Fifo<T>(), new Fifo<T>()] as const;
  /** The least number that is valid on each path. */
  readonly #least: number[];
  #next: number;
  /** The same number, not modulo 2^32: a group can have more messages than that. */
  #position: number;

  /** @param next number of the first message that leaves it */
  constructor(next = 0) {
    this.#next = next;
    this.#position = next;
    this.#least = [next, next];
  }

  /** Messages of that path that wait for an earlier one. */
  waiting(path: number): number {
    return this.#paths[path]!.length;
  }

  /** Takes out the messages that wait: an earlier one will not come. */
  drain(): T[] {
    return this.#paths.flatMap((path) => path.drain());
  }

  /** A message of that path is complete. @throws OrderViolation if its number is not beyond the earlier ones */
  push(path: number, message: T): void {
    const least = this.#least[path]!;
    const { number } = message;
    if (((number - least) | 0) < 0 || ((number - this.#next) | 0) < 0) {
      throw new OrderViolation(`sent message ${number} by ${NAMES[path]}, after a later one`);
    }
    this.#least[path] = (number + 1) >>> 0;
    this.#paths[path]!.push(message);
  }

  /** The next message; undefined while it is not here. @throws OrderViolation if a number came by both paths */
  take(): T | undefined {
    for (const path of this.#paths) {
      const message = path.peek();
      if (message === undefined) continue;
      if (message.number === this.#next) {
        path.shift();
        this.#next = (this.#next + 1) >>> 0;
        message.numberAs(this.#position);
        this.#position += 1;
        return message;
      }
      if (((message.number - this.#next) | 0) < 0) {
        throw new OrderViolation(`sent message ${message.number} by both paths`);
      }
    }
    return undefined;
  }
}
