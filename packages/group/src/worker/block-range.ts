import type { LocalKey } from '@rdmc/verbs';

/** The lkey of memory that is not known yet; not the key of a region. */
export const NO_KEY = 0 as LocalKey;

/** The bytes of one block, for a work request. One object is used again for each request, to avoid allocations. */
export class BlockRange {
  /** Address of the first byte, in registered memory. */
  address = 0;
  /** Length in bytes; 0 for an empty block. */
  byteLength = 0;
  /** Key of the memory region. */
  lkey = NO_KEY;

  /** Sets all three. Returns this object. */
  at(address: number, byteLength: number, lkey: LocalKey): this {
    this.address = address;
    this.byteLength = byteLength;
    this.lkey = lkey;
    return this;
  }
}
