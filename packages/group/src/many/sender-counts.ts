import { OrderViolation } from '../small/order-merge.js';

/**
 * What has come from each sender of a group of many: every one numbers its messages from 0, without a gap. With the order
 * 'total' a sender that has nothing to send skips numbers. Pure; numbers on the wire are modulo 2^32.
 */
export class SenderCounts {
  /** By sender: numbers that have come, whether a message has them or they were skipped. */
  readonly counts: number[];
  /** By sender: the number behind its last message. */
  readonly ends: number[];
  #messages = 0;

  constructor(
    senders: number,
    /** How far an honest sender can skip beyond every number that was seen here. */
    private readonly mostAhead: number,
  ) {
    this.counts = new Array<number>(senders).fill(0);
    this.ends = new Array<number>(senders).fill(0);
  }

  /** Messages that have come. */
  get messages(): number {
    return this.#messages;
  }

  /** A message came. Returns its number, beyond 32 bits. @throws OrderViolation for a number that is not the next one */
  message(sender: number, number: number): number {
    const next = this.#check(sender, number);
    this.counts[sender] = next + 1;
    this.ends[sender] = next + 1;
    this.#messages += 1;
    return next;
  }

  /** `count` numbers were skipped. @throws OrderViolation for a number that is not the next one, and for too many */
  skipped(sender: number, number: number, count: number): void {
    const end = this.#check(sender, number) + count;
    const most = Math.max(...this.counts) + this.mostAhead;
    if (count === 0 || end > most) {
      throw new OrderViolation(
        `skipped ${count} numbers from ${number}, and ${most} is the most that it can reach`,
      );
    }
    this.counts[sender] = end;
  }

  #check(sender: number, number: number): number {
    const next = this.counts[sender]!;
    if (number === next >>> 0) return next;
    throw new OrderViolation(`sent message ${number} in place of ${next >>> 0}`);
  }
}
