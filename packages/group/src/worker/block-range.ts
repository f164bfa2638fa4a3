import type { LocalKey } from '@rdmc/verbs';

/** No region's key: of memory that is not known yet. */
export const NO_KEY = 0 as LocalKey;

/** The bytes of one block, as a work request names them. One object is filled anew for each request, so nothing is allocated. */
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
