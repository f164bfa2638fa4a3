/**
 * The two phases of closing. First each sender, the root or one of many, sends the number of its messages; then each member
 * confirms that it has stored these and has sent on its part of them. A member with the confirmations of all knows that every
 * message reached every member, and that the queue pairs of the group are not needed any more.
 */
export class CloseBarrier {
  readonly #stored = new Set<number>();
  readonly #totals = new Map<number, number>();
  readonly #senders: readonly number[];

  /** @param senders of a group of many senders; undefined: the first member alone sends */
  constructor(
    private readonly members: readonly number[],
    private readonly ownId: number,
    private readonly senders?: readonly number[],
  ) {
    this.#senders = senders ?? members.slice(0, 1);
  }

  /** The number of messages of each sender, in their order, once all have closed. */
  get totals(): readonly number[] | undefined {
    if (this.#totals.size < this.#senders.length) return undefined;
    return this.#senders.map((sender) => this.#totals.get(sender)!);
  }

  /** That sender's number of messages, once it has closed. */
  totalOf(sender: number): number | undefined {
    return this.#totals.get(sender);
  }

  /** A sender has closed. A root has all messages, and its part is done. */
  sent(from: number, total: number): void {
    if (!this.#totals.has(from)) this.#totals.set(from, total);
    if (!this.senders) this.#stored.add(from);
  }

  /** The sender that sent more messages than it said; undefined: none. */
  beyond(counts: readonly number[]): number | undefined {
    return this.#senders.find((sender, index) => counts[index]! > (this.#totals.get(sender) ?? Infinity));
  }

  /** Whether this member must confirm now that it has stored all; true once. */
  storesNow(counts: readonly number[]): boolean {
    const { totals } = this;
    const hasAll = totals?.every((total, index) => total === counts[index]);
    if (!hasAll || this.#stored.has(this.ownId)) return false;
    this.#stored.add(this.ownId);
    return true;
  }

  stored(member: number): void {
    this.#stored.add(member);
  }

  /** The members that have all messages, once all senders have closed. */
  get holders(): Iterable<number> {
    return this.totals === undefined ? [] : this.#stored;
  }

  /** This member has all messages, and its part is done: later failures do not concern it. */
  get ownPartDone(): boolean {
    return this.totals !== undefined && this.#stored.has(this.ownId);
  }

  hasStored(member: number): boolean {
    return this.#stored.has(member);
  }

  get complete(): boolean {
    return this.members.every((member) => this.#stored.has(member));
  }

  /** The members that have not confirmed. */
  get pending(): readonly number[] {
    return this.members.filter((member) => !this.#stored.has(member));
  }
}
