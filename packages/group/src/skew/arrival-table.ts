import { MOST_PENDING_ARRIVALS, MOST_RECENT_SKEWS } from '../constants.js';
import type { GroupSkew, MessageSkew } from './group-skew.js';

/** A message that some receivers have reported. */
interface Pending {
  readonly first: number;
  readonly firstAt: number;
  last: number;
  lastAt: number;
  reports: number;
}

/** A root's record of when each receiver had each message of blocks. Times are milliseconds of the root's clock. */
export class ArrivalTable {
  /** In the order of the first reports. */
  readonly #pending = new Map<number, Pending>();
  /** The last message that each receiver has reported. */
  readonly #reported = new Map<number, number>();
  readonly #recent: MessageSkew[] = [];
  #messages = 0;
  /** The last message that was forgotten. */
  #forgotten = -1;

  constructor(private readonly receivers: readonly number[]) {}

  /**
   * A report of a receiver: ascending numbers, and how many microseconds before the report each message was complete. What
   * cannot be true is ignored.
   * @param sent messages that the root has sent so far
   * @param now when the report arrived, in milliseconds
   */
  report(
    member: number,
    messages: readonly number[],
    ages: readonly number[],
    { sent, now }: { readonly sent: number; readonly now: number },
  ): void {
    if (!this.receivers.includes(member) || messages.length !== ages.length) return;
    messages.forEach((message, index) => {
      const before = this.#reported.get(member) ?? -1;
      // Numbers on the wire are modulo 2^32.
      if (((message - before) | 0) <= 0 || ((sent - message) | 0) <= 0) return;
      this.#reported.set(member, message);
      if (this.#forgotten !== -1 && ((message - this.#forgotten) | 0) <= 0) return;
      this.#add(member, message, now - ages[index]! / 1000);
    });
  }

  /** Undefined before every receiver has reported a message. */
  get skew(): GroupSkew | undefined {
    if (this.#messages === 0) return undefined;
    const recent = [...this.#recent];
    const order = recent.map(({ ms }) => ms).sort((a, b) => a - b);
    return {
      messages: this.#messages,
      recent,
      medianMs: order[order.length >> 1]!,
      mostMs: order.at(-1)!,
      mostOftenLast: mostOften(recent.map(({ last }) => last)),
    };
  }

  #add(member: number, message: number, at: number): void {
    const known = this.#pending.get(message);
    let next: Pending;
    if (known === undefined) next = { first: member, firstAt: at, last: member, lastAt: at, reports: 1 };
    else if (at < known.firstAt) next = { ...known, first: member, firstAt: at, reports: known.reports + 1 };
    else if (at >= known.lastAt) next = { ...known, last: member, lastAt: at, reports: known.reports + 1 };
    else next = { ...known, reports: known.reports + 1 };
    this.#pending.set(message, next);
    if (next.reports === this.receivers.length) this.#complete(message, next);
    else if (this.#pending.size > MOST_PENDING_ARRIVALS) this.#forgetOldest();
  }

  #complete(message: number, { first, firstAt, last, lastAt }: Pending): void {
    this.#pending.delete(message);
    this.#messages += 1;
    this.#recent.push({ message, first, last, ms: lastAt - firstAt });
    if (this.#recent.length > MOST_RECENT_SKEWS) this.#recent.shift();
  }

  /** A receiver that does not report makes the others' reports useless; they do not take memory for ever. */
  #forgetOldest(): void {
    const [oldest] = this.#pending.keys();
    this.#pending.delete(oldest!);
    this.#forgotten = oldest!;
  }
}

/** The one that is there most often; of equal ones the first. */
function mostOften(members: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const member of members) counts.set(member, (counts.get(member) ?? 0) + 1);
  return [...counts].sort(([, one], [, other]) => other - one)[0]![0];
}
