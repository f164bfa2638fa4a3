export interface DrainedServersOptions {
  /** The other servers that are connected. */
  readonly others: () => readonly number[];
  /** The number of backups that this server's log needs. */
  readonly replicas: number;
}

/**
 * Servers that are to go, as the coordinator said last: the others must not use them as backups. Where fewer others than a log needs
 * are connected, because a further server has died, drained ones are backups, too: all writes would end, although those servers are
 * there. Their replicas move again when enough others are back.
 */
export class DrainedServers {
  #members: ReadonlySet<number> = new Set();
  #empty: ReadonlySet<number> = new Set();
  #going: ReadonlySet<number> = new Set();
  #listener: (member: number) => void = () => {};

  constructor(private readonly options: DrainedServersOptions) {}

  /** Those of the servers that may be backups. */
  backupsOf(servers: readonly number[]): readonly number[] {
    return this.#areNeeded ? servers : servers.filter((member) => !this.#members.has(member));
  }

  /** Whether the server's replicas can go: it is drained, does not have slots any more, and enough others are connected. */
  isGoing(member: number): boolean {
    return this.#empty.has(member) && !this.#areNeeded;
  }

  /** Calls the listener for each server whose replicas can go, and could not before. */
  onGoing(listener: (member: number) => void): void {
    this.#listener = listener;
  }

  /** @param serving the servers that have slots */
  update(members: readonly number[], serving: ReadonlySet<number>): void {
    this.#members = new Set(members);
    this.#empty = new Set(members.filter((member) => !serving.has(member)));
    this.look();
  }

  /** Call when a server has come, or has gone. */
  look(): void {
    const going = [...this.#empty].filter((member) => this.isGoing(member));
    const added = going.filter((member) => !this.#going.has(member));
    this.#going = new Set(going);
    for (const member of added) this.#listener(member);
  }

  get #areNeeded(): boolean {
    const { others, replicas } = this.options;
    return others().filter((member) => !this.#members.has(member)).length < replicas;
  }
}
