import type { SegmentRef } from '../segment-key.js';

/** Open replicas below this are stale: those of an earlier segment, or of an earlier epoch of this segment. */
export interface Minimum {
  /** The segment that is being written. */
  readonly segmentId: bigint;
  /** The least epoch of that segment's replicas that counts. */
  readonly epoch: number;
}

/**
 * The coordinator's part in the replacement of a backup. To fence a primary it is not enough to close its queue pairs:
 * a primary that is cut off from the coordinator could replace its backups by others and continue. So every
 * replacement must be confirmed here, and a primary that was declared dead gets no confirmation.
 */
export interface LogAuthority {
  /**
   * Records that open replicas below the minimum do not count any more. The minimum only rises; an equal or lower one
   * has no effect.
   * @throws an error with code ERR_RDMC_LOG_FENCED once the log is being recovered
   */
  raiseMinimum(ref: SegmentRef, minimum: Minimum): Promise<void>;
}
