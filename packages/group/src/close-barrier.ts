/**
 * The two phases of closing. First the root says how many messages it sent; then each member says when these are
 * stored with it and its part in passing them on is done. Who has heard that of all knows that everything
 * reached everyone, and that no queue pair of the group is needed any more.
 */
export class CloseBarrier {
  readonly #stored = new Set<number>();
  #total: number | undefined;

  constructor(
    private readonly members: readonly number[],
    private readonly ownId: number,
  ) {}

  /** How many messages there are in all, once the root has closed. */
  get total(): number | undefined {
    return this.#total;
  }

  /** The root has closed. It has everything, and nothing is owed by it. */
  sent(total: number): void {
    this.#total = total;
    this.#stored.add(this.members[0]!);
  }

  /** Whether it is for this member to say that it has stored all, for the first time. */
  storesNow(finished: number): boolean {
    if (this.#total !== finished || this.#stored.has(this.ownId)) return false;
    this.#stored.add(this.ownId);
    return true;
  }

  stored(member: number): void {
    this.#stored.add(member);
  }

  /** This member has everything, and its part is done: nothing that breaks now concerns it. */
  get ownPartDone(): boolean {
    return this.#total !== undefined && this.#stored.has(this.ownId);
  }

  hasStored(member: number): boolean {
    return this.#stored.has(member);
  }

  get complete(): boolean {
    return this.members.every((member) => this.#stored.has(member));
  }

  /** Who has not said that it has everything. */
  get pending(): readonly number[] {
    return this.members.filter((member) => !this.#stored.has(member));
  }
}
