/** When the receivers of a message had all of it. */
export interface MessageSkew {
  /** Its number, as that of the received message. */
  readonly message: number;
  /** Id of the receiver that had it first. */
  readonly first: number;
  /** Id of the receiver that had it last. */
  readonly last: number;
  /** Milliseconds between them. */
  readonly ms: number;
}

/**
 * The time from the first receiver of a message to the last one. The root computes it from reports of the receivers, on its own
 * clock: it is wrong by at most the time that reports take over the mesh.
 */
export interface GroupSkew {
  /** Messages of blocks that every receiver has reported, since the creation of the group. */
  readonly messages: number;
  /** The last 256 of them, in the order in which they were complete everywhere. The numbers below are those of this list. */
  readonly recent: readonly MessageSkew[];
  /** Their median, in milliseconds. */
  readonly medianMs: number;
  /** The largest, in milliseconds. */
  readonly mostMs: number;
  /** Id of the receiver that was most often the last one. */
  readonly mostOftenLast: number;
}
