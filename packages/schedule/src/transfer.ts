/** The transfer of one block from one member to another in one step. */
export interface Transfer {
  /** Step number, from 0. */
  readonly step: number;
  /** Sending rank. */
  readonly from: number;
  /** Receiving rank. */
  readonly to: number;
  /** Block number, 0 ≤ block < blocks. */
  readonly block: number;
}

/** One member's part of a schedule, each list in step order. */
export interface RankPart {
  /** Transfers from this rank. */
  readonly sends: Transfer[];
  /** Transfers to this rank. */
  readonly receives: Transfer[];
}

/** The members with which a rank exchanges blocks, for any number of blocks. */
export interface Neighbours {
  /** Ranks it may send to, ascending. */
  readonly sendsTo: number[];
  /** Ranks it may receive from, ascending. */
  readonly receivesFrom: number[];
  /** The sender of its first block, for every number of blocks; `undefined` for the root. */
  readonly firstFrom: number | undefined;
}
