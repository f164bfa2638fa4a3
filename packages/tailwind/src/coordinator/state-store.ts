/** A value and the revision of its last change. */
export interface StoredValue {
  readonly value: string;
  readonly revision: number;
}

/**
 * Where a coordinator keeps what must survive it: few small values that change seldom. Everything that `put` has
 * resolved for is durable. Implementations: `FileStore` here; anything with compare-and-swap fits.
 */
export interface StateStore {
  get(key: string): Promise<StoredValue | undefined>;
  /** All keys that begin so. */
  list(prefix: string): Promise<Map<string, StoredValue>>;
  /**
   * Changes a value that has this revision, or makes one that does not exist (revision 0). Resolves with the new one.
   * @throws an error with code ERR_RDMC_STATE_CONFLICT when somebody else was first
   */
  put(key: string, value: string, revision: number): Promise<number>;
  close(): Promise<void>;
}
