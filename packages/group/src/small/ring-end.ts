import { granuleOf, MAX_BATCHES, type RingUnits } from './layout.js';

/** One end of the ring of a receiver: the root's, or the receiver's own. Its counts are in an array, modulo 2^32. */
export abstract class RingEnd {
  /** Units by which acks count. */
  protected readonly granule: number;

  /** `state` has the counts; a model of the protocol restores them. */
  constructor(
    protected readonly state: Uint32Array,
    private readonly rings: RingUnits,
    protected readonly maxBatches: number = MAX_BATCHES,
  ) {
    this.granule = granuleOf(rings.full);
  }

  /** Whether batches from here on are in the full ring. */
  abstract get isGrown(): boolean;

  /** Units of the ring in use. */
  protected get units(): number {
    return this.isGrown ? this.rings.full : this.rings.first;
  }
}
