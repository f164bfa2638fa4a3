/** A value and the revision of its last change. */
export interface StoredValue {
  /** The value, as it was put. */
  readonly value: string;
  /** Above 0; every change of the value gives it another one. */
  readonly revision: number;
}

/**
 * Stores what must survive a coordinator: a few small values that change rarely. Every value is durable once `put` has
 * resolved. `FileStore` and `EtcdStore` implement it; any store with compare-and-swap fits.
 */
export interface StateStore {
  /** The value of a key, and its revision; undefined if it was never put. */
  get(key: string): Promise<StoredValue | undefined>;
  /** All keys with this prefix. */
  list(prefix: string): Promise<Map<string, StoredValue>>;
  /**
   * Changes a value that has this revision, or creates a missing one (revision 0). Resolves with the new revision.
   * @throws an error with code ERR_RDMC_STATE_CONFLICT when another process changed the value first
   */
  put(key: string, value: string, revision: number): Promise<number>;
  /** Releases the store for another process. */
  close(): Promise<void>;
}

/** A store whose format is the level of the cluster (`Levels` of @rdmc/common). */
export interface LevelStore extends StateStore {
  /** The level of the cluster. A new state has the highest level of the process that opens it. */
  readonly level: number;
  /**
   * Raises the level, durably: processes that do not speak it cannot open the state any more. A level that is not higher has no
   * effect.
   */
  raiseLevel(level: number): Promise<void>;
}
