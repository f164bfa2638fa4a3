import { GRANULES, MAX_BATCHES } from './layout.js';

/** One end of the ring of a receiver: the root's, or the receiver's own. Its counts are in an array, modulo 2^32. */
export abstract class RingEnd {
  /** Units by which acks count. */
  protected readonly granule: number;

  /** `state` has the counts; a model of the protocol restores them. */
  constructor(
    protected readonly state: Uint32Array,
    protected readonly units: number,
    protected readonly maxBatches: number = MAX_BATCHES,
  ) {
    this.granule = Math.max(1, units / GRANULES);
  }
}
