/** Servers that are to go, as the coordinator said last: the others must not use them as backups. */
export class DrainedServers {
  #members: ReadonlySet<number> = new Set();
  #empty: ReadonlySet<number> = new Set();
  #listener: (member: number) => void = () => {};

  has(member: number): boolean {
    return this.#members.has(member);
  }

  /** Calls the listener for each server that is drained, and does not have slots any more: its replicas can go then. */
  onEmpty(listener: (member: number) => void): void {
    this.#listener = listener;
  }

  /** @param serving the servers that have slots */
  update(members: readonly number[], serving: ReadonlySet<number>): void {
    this.#members = new Set(members);
    const empty = members.filter((member) => !serving.has(member));
    const added = empty.filter((member) => !this.#empty.has(member));
    this.#empty = new Set(empty);
    for (const member of added) this.#listener(member);
  }
}
