import type { MemoryRegion } from '@rdmc/verbs';

/** A complete message. Its memory belongs to the application until `release()`. */
export class ReceivedMessage {
  #released = false;

  /** @internal */
  constructor(
    /** Position in the group's sequence of messages, from 0. */
    readonly number: number,
    /** The region that has the message. */
    readonly region: MemoryRegion,
    /** Offset of its first byte in `region`. */
    readonly offset: number,
    /** Length in bytes; 0 is possible. */
    readonly byteLength: number,
    /** Whether `release` returns the region to the node. */
    private readonly givesBack: boolean,
  ) {}

  /**
   * The bytes in place, without a copy. Read a message that is too long for one typed array in parts, with
   * `region.view(offset + position, length)`.
   * @throws VerbsError ERR_RDMC_REGION_CLOSED after `release`
   */
  get view(): Uint8Array {
    return this.region.view(this.offset, this.byteLength);
  }

  /**
   * The application does not need the message any more. A whole region from `node.allocate`, or from the group
   * itself, returns to the pool; other memory stays with the application. Idempotent.
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
