import type { MemoryRegion } from '@rdmc/verbs';

/** A message that has arrived whole. Its memory is the application's until `release()`. */
export class ReceivedMessage {
  #released = false;

  /** @internal */
  constructor(
    /** Position in the group's sequence of messages, from 0. */
    readonly number: number,
    readonly region: MemoryRegion,
    /** Where in `region` it begins. */
    readonly offset: number,
    readonly byteLength: number,
    /** Whether `release` gives the region back to the node. */
    private readonly givesBack: boolean,
  ) {}

  /**
   * The bytes, where they lie: no copy. Messages beyond what one typed array holds are read piecewise, with
   * `region.view(offset + position, length)`.
   * @throws VerbsError ERR_RDMC_REGION_CLOSED after `release`
   */
  get view(): Uint8Array {
    return this.region.view(this.offset, this.byteLength);
  }

  /**
   * The application needs the message no more. Memory that came whole from `node.allocate`, or from the group
   * itself, goes back to the pool; other memory stays the application's. Idempotent.
   */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    if (this.givesBack) void this.region.close();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
