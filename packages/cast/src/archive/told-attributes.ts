import { isUtf8 } from 'node:buffer';
import type { BigIntStats } from 'node:fs';
import { accountsHere, type HostAccounts } from './accounts.js';
import { type AttributeCalls, readExtended, systemCalls } from './attribute-calls.js';
import { encodeAttributes, isAccountName } from './entry-attributes.js';
import type { ExtendedAttribute } from './extended-attributes.js';
import { SPECIAL_MODE_MASK } from './layout.js';

const NONE: readonly ExtendedAttribute[] = [];

/** What the sender of an archive cast tells about its entries, as blocks. Equal ones are the same object. */
export class ToldAttributes {
  readonly #blocks = new Map<string, Buffer>();

  constructor(
    /** Undefined: names are not told. */
    private readonly accounts: HostAccounts | undefined,
    /** Undefined: extended attributes are not told. */
    private readonly calls?: AttributeCalls,
    private readonly isRoot = false,
  ) {}

  static ofThisHost(numericIds: boolean): ToldAttributes {
    return new ToldAttributes(
      numericIds ? undefined : accountsHere(),
      systemCalls(),
      process.geteuid!() === 0,
    );
  }

  /**
   * @param path of a file or directory; undefined for a link, and where extended attributes are not told
   * @throws CastError ERR_RDMC_ATTRIBUTES_TOO_LARGE; errors of the system
   */
  of(stats: Pick<BigIntStats, 'uid' | 'gid' | 'mode'>, path?: Buffer): Buffer {
    const extended = path ? this.#extendedOf(path) : NONE;
    const [uid, gid] = [Number(stats.uid), Number(stats.gid)];
    const special = Number(stats.mode) & SPECIAL_MODE_MASK;
    const key = `${uid}:${gid}:${special}`;
    const known = extended.length === 0 ? this.#blocks.get(key) : undefined;
    if (known) return known;
    const user = tellable(this.accounts?.users.nameOf(uid));
    const block = encodeAttributes({
      ...{ uid, gid, special, user, extended },
      group: tellable(this.accounts?.groups.nameOf(gid)),
    });
    if (extended.length === 0) this.#blocks.set(key, block);
    return block;
  }

  /** The library takes paths as text: where one is not UTF-8, nothing is told. */
  #extendedOf(path: Buffer): readonly ExtendedAttribute[] {
    if (!this.calls || !isUtf8(path)) return NONE;
    return readExtended(this.calls, path.toString(), this.isRoot) ?? NONE;
  }
}

function tellable(name = ''): string {
  return isAccountName(name) ? name : '';
}
