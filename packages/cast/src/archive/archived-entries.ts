import { fchmodSync, fchownSync, fstatSync, lchownSync, lstatSync } from 'node:fs';
import { MODE_MASK } from '../constants.js';
import { codeOf } from '../errors.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { accountsHere } from './accounts.js';
import { ArchivedExtended } from './archived-extended.js';
import { systemCalls } from './attribute-calls.js';
import { decodeAttributes, type EntryAttributes } from './entry-attributes.js';
import { givesRights } from './extended-attributes.js';
import { SET_GROUP_ID, SET_USER_ID, SPECIAL_MODE_MASK } from './layout.js';
import { isSameOwner, type Owner, OwnerRules, specialBits } from './owner-rules.js';
import type { UnsetAttributes } from './unset-attributes.js';

/** What the system says when a process may not give an entry that owner, or its user namespace does not have it. */
const NOT_PERMITTED = new Set(['EPERM', 'EINVAL', 'ENOSYS', 'ENOTSUP']);

const OWNER_UNSET = 1;
const MODE_UNSET = 2;

/** Owner and mode of an entry that exists. */
type Found = Owner & { readonly mode: number };

/**
 * The attributes that the sender of an archive cast has sent with its entries, and their way to this receiver's files. A
 * receiver that does not accept them only counts the entries that lack them. An attribute that the process may not set is
 * counted, and is not a failure.
 */
export class ArchivedEntries {
  readonly #attributes: (EntryAttributes | undefined)[] = [];
  /** By index: what was not set. */
  readonly #unset: number[] = [];
  #lastBlock: Buffer | undefined;
  #last: EntryAttributes | undefined;

  constructor(
    private readonly accepted: boolean,
    private readonly rules: OwnerRules,
    private readonly extended: ArchivedExtended,
  ) {}

  /** @param accepted whether the receiver sets what the sender tells */
  static atThisHost(accepted: boolean): ArchivedEntries {
    const [uid, gid] = [process.geteuid!(), process.getegid!()];
    const own = { uid, gid, groups: new Set([gid, ...process.getgroups!()]) };
    const extended = new ArchivedExtended(accepted, systemCalls, uid === 0);
    return new ArchivedEntries(accepted, new OwnerRules(own, accountsHere()), extended);
  }

  /** The sender has told about an entry. @throws CastError ERR_RDMC_CAST_PROTOCOL */
  note({ attributes: block }: ManifestEntry, index: number): void {
    if (block) this.#attributes[index] = this.#decoded(block);
  }

  /** Whether an existing entry has the owner and mode bits that this receiver gives it. */
  matches(index: number, stats: Found | { readonly [K in keyof Found]: bigint }): boolean {
    const attributes = this.#attributes[index];
    if (!attributes) return true;
    const found = { uid: Number(stats.uid), gid: Number(stats.gid), mode: Number(stats.mode) };
    const given = this.accepted ? this.#given(attributes, found) : found;
    this.#count(index, attributes, given);
    return isSameOwner(given, found) && ((given.mode ^ found.mode) & SPECIAL_MODE_MASK) === 0;
  }

  /**
   * Whether an existing file or directory has the extended attributes that this receiver gives it. A file is replaced where it
   * does not: somebody else could exchange it while they are set.
   * @throws errors of the system
   */
  hasExtended(index: number, place: Buffer): boolean {
    const attributes = this.#attributes[index];
    return !attributes || this.extended.matches(index, attributes.extended, place);
  }

  /** In a dry run: the entry would be made. What it would lack is counted. */
  foresee(index: number): void {
    const attributes = this.#attributes[index];
    if (!attributes) return;
    this.extended.foresee(index, attributes.extended);
    const made = { ...this.rules.ownerOfNew, mode: 0 };
    this.#count(index, attributes, this.accepted ? this.#given(attributes, made) : made);
  }

  /**
   * Whether an entry runs with the rights of its owner or group, or with capabilities. An existing file does not become such a file, even if size
   * and time are those of the sender: somebody else may have written it. The sender sends it again.
   */
  isPrivileged(index: number): boolean {
    const { special = 0, extended = [] } = this.#attributes[index] ?? {};
    return this.accepted && ((special & (SET_USER_ID | SET_GROUP_ID)) !== 0 || givesRights(extended));
  }

  /**
   * Sets owner, mode and extended attributes. Sets nothing and returns false where the sender has told nothing, or where it is
   * not accepted.
   * @param path of the open entry, which nobody can exchange; undefined: its extended attributes stay
   * @throws errors of the system
   */
  set(index: number, descriptor: number, mode: number, path: string | undefined): boolean {
    const attributes = this.#attributes[index];
    if (!attributes) return false;
    if (!this.accepted) {
      if (path !== undefined) this.extended.set(index, attributes.extended, path);
      this.#count(index, attributes, { ...ownerOf(fstatSync(descriptor)), mode: mode & MODE_MASK });
      return false;
    }
    const wanted = this.rules.wanted(attributes);
    const owner = this.#own(wanted, fstatSync(descriptor), (uid, gid) => fchownSync(descriptor, uid, gid));
    // Behind the owner: a change of that clears set-user-id and set-group-id.
    const full = (mode & MODE_MASK) | specialBits(attributes.special, wanted, owner);
    fchmodSync(descriptor, full);
    // Behind both: the mode changes an access control list, and a change of the owner clears capabilities.
    if (path !== undefined) this.extended.set(index, attributes.extended, path);
    this.#count(index, attributes, { ...owner, mode: full });
    return true;
  }

  /** Sets the owner of a symbolic link. @throws errors of the system */
  setLink(index: number, place: Buffer): void {
    const attributes = this.#attributes[index];
    if (!attributes) return;
    const found = ownerOf(lstatSync(place));
    const wanted = this.rules.wanted(attributes);
    const owner = this.accepted ? this.#own(wanted, found, (uid, gid) => lchownSync(place, uid, gid)) : found;
    this.#count(index, attributes, { ...owner, mode: attributes.special });
  }

  /** Undefined where everything that was told is set. */
  get unset(): UnsetAttributes | undefined {
    let [owners, modes] = [0, 0];
    for (const bits of this.#unset) {
      if (bits === undefined) continue;
      if ((bits & OWNER_UNSET) !== 0) owners += 1;
      if ((bits & MODE_UNSET) !== 0) modes += 1;
    }
    const { extended, accepted } = this;
    const isSet = owners + modes + extended.unset.attributes === 0;
    return isSet ? undefined : { accepted, owners, modes, ...extended.unset };
  }

  /** Most entries have those of the entry before. */
  #decoded(block: Buffer): EntryAttributes {
    if (this.#last && this.#lastBlock?.equals(block)) return this.#last;
    // The block is a view of a piece of the manifest.
    this.#lastBlock = Buffer.from(block);
    this.#last = decodeAttributes(block);
    return this.#last;
  }

  /** Returns the owner that the entry has then. @throws errors of the system, except where it is not permitted */
  #own(wanted: Owner, found: Owner, change: (uid: number, gid: number) => void): Owner {
    const possible = this.rules.possible(wanted, found);
    if (isSameOwner(possible, found)) return found;
    try {
      change(possible.uid, possible.gid);
      return possible;
    } catch (error) {
      if (!NOT_PERMITTED.has(codeOf(error) ?? '')) throw error;
      return found;
    }
  }

  /** What an accepting receiver makes of an entry. */
  #given(attributes: EntryAttributes, found: Owner): Found {
    const wanted = this.rules.wanted(attributes);
    const owner = this.rules.possible(wanted, found);
    return { ...owner, mode: specialBits(attributes.special, wanted, owner) };
  }

  #count(index: number, attributes: EntryAttributes, found: Found): void {
    const isOwner = isSameOwner(this.rules.wanted(attributes), found);
    const isMode = (found.mode & SPECIAL_MODE_MASK) === attributes.special;
    this.#unset[index] = (isOwner ? 0 : OWNER_UNSET) | (isMode ? 0 : MODE_UNSET);
  }
}

function ownerOf({ uid, gid }: Owner): Owner {
  return { uid, gid };
}
