import { Deferred, SilenceTimer } from '@rdmc/common';
import { COUNTS_TICK_MS } from './constants.js';

/**
 * How many messages each receiver of a group that failed has. Every member says it once, when it stops: what it says does not
 * change afterwards.
 */
export class DeliveryCounts {
  readonly #counts = new Map<number, number>();
  /** In a group of many senders: the numbers of messages of each, by receiver. */
  readonly #from = new Map<number, readonly number[]>();
  readonly #awaited: Set<number>;
  /** Members that failed, and said so themselves. */
  readonly #speaking = new Set<number>();
  readonly #complete = new Deferred<void>();
  #hasEnded = false;

  /** @param receivers the receivers of the group; of these, others than `ownId` are waited for */
  constructor(
    private readonly receivers: readonly number[],
    ownId: number,
  ) {
    this.#awaited = new Set(receivers.filter((member) => member !== ownId));
  }

  /** A receiver has stopped after this number of messages. The root's number is not kept: it receives nothing. */
  stopped(member: number, messages: number, from?: readonly number[]): void {
    if (this.#hasEnded || !this.receivers.includes(member) || this.#counts.has(member)) return;
    this.#counts.set(member, messages);
    if (from) this.#from.set(member, from);
    this.#settle(member);
  }

  /** The member says itself that it has failed: it says its number as well. */
  speaks(member: number): void {
    this.#speaking.add(member);
  }

  /** The member has failed. Unless it speaks, it will not say its number. */
  failed(member: number): void {
    if (!this.#speaking.has(member)) this.#settle(member);
  }

  /** The member is lost: it will not say it. */
  lost(member: number): void {
    this.#settle(member);
  }

  /** The numbers that are known now, sorted by member. */
  get known(): ReadonlyMap<number, number> {
    return new Map([...this.#counts].sort(([one], [other]) => one - other));
  }

  /**
   * The numbers that are known now, by receiver and sender.
   * @param ownToo whether senders receive their own messages
   */
  bySender(senders: readonly number[], ownToo: boolean): ReadonlyMap<number, ReadonlyMap<number, number>> {
    const rows = [...this.#from].sort(([one], [other]) => one - other);
    return new Map(
      rows.map(([member, counts]) => {
        const all = senders.map((sender, index) => [sender, counts[index] ?? 0] as const);
        return [member, new Map(ownToo ? all : all.filter(([sender]) => sender !== member))];
      }),
    );
  }

  /** Resolves with the numbers of those that said theirs within the time, counted in ticks of this thread's event loop. */
  async collect(timeoutMs: number): Promise<ReadonlyMap<number, number>> {
    this.#look();
    const timer = new SilenceTimer(COUNTS_TICK_MS, timeoutMs, () => this.#complete.resolve());
    await this.#complete.promise;
    timer.stop();
    this.#hasEnded = true;
    return this.known;
  }

  #settle(member: number): void {
    this.#awaited.delete(member);
    this.#look();
  }

  #look(): void {
    if (this.#awaited.size === 0) this.#complete.resolve();
  }
}
