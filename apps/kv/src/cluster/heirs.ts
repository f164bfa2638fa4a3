/** A server that takes over slots, with its log. */
export type Heir = readonly [logId: string, member: number];

export interface HeirsOptions {
  /** The servers that are here, and do not have leftovers of takeovers of earlier runs. */
  readonly clean: () => readonly Heir[];
  readonly drained: () => Promise<ReadonlySet<number>>;
}

/** Chooses the servers that take over the slots of a dead one. */
export class Heirs {
  /**
   * By dead log: the logs that did not have room for a part of it. They are left out, or each attempt would fail as the one before
   * although the others have room. A server that is started again has another log.
   */
  readonly #full = new Map<string, Set<string>>();

  constructor(private readonly options: HeirsOptions) {}

  /** The server that had the slots, if it is back with a new log; else all, without those that are drained. */
  async of(logId: string, owner: number | undefined): Promise<readonly Heir[]> {
    const drained = await this.options.drained();
    const heirs = this.#withRoom(logId);
    const back = heirs.filter(([, member]) => member === owner);
    if (back.length > 0) return back;
    const staying = heirs.filter(([, member]) => !drained.has(member));
    return staying.length > 0 ? staying : heirs;
  }

  /** Where nobody else is left, all are asked again: keys may have been removed meanwhile. */
  #withRoom(logId: string): readonly Heir[] {
    const clean = this.options.clean();
    const full = this.#full.get(logId);
    const withRoom = clean.filter(([heir]) => !full?.has(heir));
    if (withRoom.length > 0) return withRoom;
    this.#full.delete(logId);
    return clean;
  }

  /** An attempt failed because these heirs did not have room. */
  leaveOut(logId: string, heirs: readonly string[]): void {
    this.#full.set(logId, new Set([...(this.#full.get(logId) ?? []), ...heirs]));
  }

  /** The log is recovered. */
  forget(logId: string): void {
    this.#full.delete(logId);
  }
}
