import type { SegmentRef } from '../segment-key.js';

/** Open replicas before this are stale: of an earlier segment, or of an earlier epoch of this one. */
export interface Minimum {
  readonly segmentId: bigint;
  readonly epoch: number;
}

/**
 * What a primary needs of the coordinator when it replaces a backup. Closed queue pairs are not enough to fence a
 * primary: one that is cut off from the coordinator could replace its backups by others and go on. So no replica is
 * replaced without a word from here, and a primary that was declared dead gets none.
 */
export interface LogAuthority {
  /**
   * Records that open replicas below the minimum no longer count. Only upwards; the same again is harmless.
   * @throws an error with code ERR_RDMC_LOG_FENCED once the log is being recovered
   */
  raiseMinimum(ref: SegmentRef, minimum: Minimum): Promise<void>;
}
