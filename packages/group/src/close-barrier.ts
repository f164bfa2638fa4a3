/**
 * The two phases of closing. First the root sends the number of its messages; then each member confirms that it has
 * stored these and has sent on its part of them. A member with the confirmations of all knows that every message
 * reached every member, and that the queue pairs of the group are not needed any more.
 */
export class CloseBarrier {
  readonly #stored = new Set<number>();
  #total: number | undefined;

  constructor(
    private readonly members: readonly number[],
    private readonly ownId: number,
  ) {}

  /** The number of messages, once the root has closed. */
  get total(): number | undefined {
    return this.#total;
  }

  /** The root has closed. It has all messages, and its part is done. */
  sent(total: number): void {
    this.#total = total;
    this.#stored.add(this.members[0]!);
  }

  /** Whether that is more than all messages; false while the root has not closed. */
  isBeyond(finished: number): boolean {
    return this.#total !== undefined && finished > this.#total;
  }

  /** Whether this member must confirm now that it has stored all; true once. */
  storesNow(finished: number): boolean {
    if (this.#total !== finished || this.#stored.has(this.ownId)) return false;
    this.#stored.add(this.ownId);
    return true;
  }

  stored(member: number): void {
    this.#stored.add(member);
  }

  /** The members that have all messages, once the root has closed. */
  get holders(): Iterable<number> {
    return this.#total === undefined ? [] : this.#stored;
  }

  /** This member has all messages, and its part is done: later failures do not concern it. */
  get ownPartDone(): boolean {
    return this.#total !== undefined && this.#stored.has(this.ownId);
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
