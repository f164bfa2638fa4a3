import type { BigIntStats } from 'node:fs';
import { accountsHere, type HostAccounts } from './accounts.js';
import { encodeAttributes, isAccountName } from './entry-attributes.js';
import { SPECIAL_MODE_MASK } from './layout.js';

/** What the sender of an archive cast tells about its entries, as blocks. Equal ones are the same object. */
export class ToldAttributes {
  readonly #blocks = new Map<string, Buffer>();

  constructor(
    /** Undefined: names are not told. */
    private readonly accounts: HostAccounts | undefined,
  ) {}

  static ofThisHost(numericIds: boolean): ToldAttributes {
    return new ToldAttributes(numericIds ? undefined : accountsHere());
  }

  of(stats: Pick<BigIntStats, 'uid' | 'gid' | 'mode'>): Buffer {
    const [uid, gid] = [Number(stats.uid), Number(stats.gid)];
    const special = Number(stats.mode) & SPECIAL_MODE_MASK;
    const key = `${uid}:${gid}:${special}`;
    const known = this.#blocks.get(key);
    if (known) return known;
    const user = tellable(this.accounts?.users.nameOf(uid));
    const block = encodeAttributes({
      ...{ uid, gid, special, user },
      group: tellable(this.accounts?.groups.nameOf(gid)),
    });
    this.#blocks.set(key, block);
    return block;
  }
}

function tellable(name = ''): string {
  return isAccountName(name) ? name : '';
}
