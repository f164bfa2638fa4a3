/** Servers that are to go, as the coordinator said last: the others must not use them as backups. */
export class DrainedServers {
  #members: ReadonlySet<number> = new Set();
  #listener: (member: number) => void = () => {};

  has(member: number): boolean {
    return this.#members.has(member);
  }

  /** Calls the listener for each server that is drained from now on. */
  onDrained(listener: (member: number) => void): void {
    this.#listener = listener;
  }

  update(members: readonly number[]): void {
    const added = members.filter((member) => !this.#members.has(member));
    this.#members = new Set(members);
    for (const member of added) this.#listener(member);
  }
}
