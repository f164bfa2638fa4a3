import type { LocalKey } from '@rdmc/verbs';

/** The lkey of memory that is not known yet; not the key of a region. */
export const NO_KEY = 0 as LocalKey;

/** The bytes of one block, for a work request. One object is used again for each request, to avoid allocations. */
export class BlockRange {
  address = 0;
  byteLength = 0;
  lkey = NO_KEY;

  at(address: number, byteLength: number, lkey: LocalKey): this {
    this.address = address;
    this.byteLength = byteLength;
    this.lkey = lkey;
    return this;
  }
}
