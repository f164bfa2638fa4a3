import { Fifo } from '@rdmc/common';
import { MIB } from '../constants.js';
import { NO_HEAD, type TotalRules } from './order-rules.js';

/** While that much of a sender is held, no further messages of it are copied out of its ring. */
const MOST_MESSAGES = 16_384;
const MOST_BYTES = 4 * MIB;

interface Held {
  /** The number that its sender gave it. */
  readonly number: number;
  readonly byteLength: number;
}

/**
 * Messages that this member has and that cannot be delivered yet: some member may lack them, or an earlier message of the order
 * is missing. Each sender has a limit of its own: a full queue of one sender cannot hold up the sender that it waits for.
 */
export class SenderQueues<T extends Held> {
  readonly #queues: readonly Fifo<T>[];
  readonly #bytes: number[];
  readonly #heads: number[];
  readonly #frontier: number[];
  /** By sender that has closed: its numbers. */
  readonly #totals: number[];

  constructor(
    senders: number,
    private readonly rules: TotalRules,
  ) {
    this.#queues = Array.from({ length: senders }, () => new Fifo<T>());
    this.#bytes = new Array<number>(senders).fill(0);
    this.#heads = new Array<number>(senders).fill(NO_HEAD);
    this.#frontier = new Array<number>(senders).fill(0);
    this.#totals = new Array<number>(senders).fill(Number.POSITIVE_INFINITY);
  }

  /** Whether so much of that sender is held that no more should be read from it. */
  isFull(sender: number): boolean {
    return this.#queues[sender]!.length >= MOST_MESSAGES || this.#bytes[sender]! >= MOST_BYTES;
  }

  get hasMessages(): boolean {
    return this.#heads.some((head) => head !== NO_HEAD);
  }

  /** A message behind the total of its sender stays here: its sender broke the protocol, and the group fails. */
  push(sender: number, message: T): void {
    if (this.#heads[sender] === NO_HEAD) this.#heads[sender] = this.#headOf(sender, message);
    this.#queues[sender]!.push(message);
    this.#bytes[sender]! += message.byteLength;
  }

  /** All members have so many numbers of each sender. */
  stable(counts: readonly number[]): void {
    for (const [sender, count] of counts.entries()) {
      this.#frontier[sender] = count >= this.#totals[sender]! ? Number.POSITIVE_INFINITY : count;
    }
  }

  /** A sender has closed after `total` numbers: it does not hold up the others behind them. */
  closed(sender: number, total: number): void {
    this.#totals[sender] = total;
    this.#heads[sender] = this.#headOf(sender);
    if (this.#frontier[sender]! >= total) this.#frontier[sender] = Number.POSITIVE_INFINITY;
  }

  /** The survivors deliver so many numbers of each sender and no more. Returns the messages behind them. */
  trim(counts: readonly number[]): T[] {
    const dropped: T[] = [];
    for (const [sender, count] of counts.entries()) {
      const kept: T[] = [];
      for (const message of this.#queues[sender]!.drain()) {
        if (message.number < count) kept.push(message);
        else dropped.push(message);
      }
      for (const message of kept) this.#queues[sender]!.push(message);
      // What was agreed on counts, and not what a sender said.
      this.#totals[sender] = Number.POSITIVE_INFINITY;
      this.#frontier[sender] = Number.POSITIVE_INFINITY;
      this.#heads[sender] = this.#headOf(sender);
    }
    return dropped;
  }

  /** The sender of the next message; −1: none can be delivered now. */
  next(): number {
    return this.rules.next(this.#heads, this.#frontier);
  }

  /** Takes out the oldest message of that sender. */
  take(sender: number): T {
    const message = this.#queues[sender]!.shift()!;
    this.#bytes[sender]! -= message.byteLength;
    this.#heads[sender] = this.#headOf(sender);
    return message;
  }

  /** Takes out everything: it will not be delivered. */
  drain(): T[] {
    this.#heads.fill(NO_HEAD);
    return this.#queues.flatMap((queue) => queue.drain());
  }

  #headOf(sender: number, oldest = this.#queues[sender]!.peek()): number {
    return oldest && oldest.number < this.#totals[sender]! ? oldest.number : NO_HEAD;
  }
}
