import { isUtf8 } from 'node:buffer';
import { codeOf } from '../errors.js';
import { type AttributeCalls, isNoneHere, readExtended } from './attribute-calls.js';
import { type ExtendedAttribute, isCarried, isSameExtended } from './extended-attributes.js';

/** Why an attribute cannot be set, which is counted and is not a failure. */
const REFUSED = new Set(['EPERM', 'EACCES', 'EINVAL', 'ENOSPC', 'EDQUOT', 'E2BIG', 'ERANGE']);
const NOT_PERMITTED = 'EPERM';
const NO_ATTRIBUTES = 'ENOTSUP';
type List = readonly ExtendedAttribute[];

/** The extended attributes that the sender has told, and their way to this receiver's entries. */
export class ArchivedExtended {
  /** Entries that lack attributes, with the code of the first one that cannot be set. */
  readonly #unset = new Map<number, string | undefined>();
  #calls: AttributeCalls | undefined;

  constructor(
    private readonly accepted: boolean,
    /** Called when attributes are read or set for the first time. */
    private readonly load: () => AttributeCalls,
    private readonly isRoot: boolean,
  ) {}

  /** How many entries lack attributes, and why the first of them does. */
  get unset(): { readonly attributes: number; readonly attributeCode?: string } {
    const code = [...this.#unset.values()].find((each) => each !== undefined);
    return { attributes: this.#unset.size, ...(code !== undefined && { attributeCode: code }) };
  }

  /**
   * Whether an existing entry has what this receiver gives it: these, and no others of those that are carried.
   * @throws errors of the system
   */
  matches(index: number, told: List, place: Buffer): boolean {
    if (!this.accepted && told.length === 0) return true;
    const found = isUtf8(place) ? readExtended(this.#system, place.toString(), this.isRoot) : undefined;
    if (!found) return this.#lacks(index, told, NO_ATTRIBUTES);
    if (!this.accepted) return this.#lacks(index, isSameExtended(found, told) ? [] : told, undefined);
    const wanted = this.#wanted(told);
    this.#lacks(index, told.slice(wanted.length), NOT_PERMITTED);
    return isSameExtended(found, wanted);
  }

  /** In a dry run: the entry would be made. */
  foresee(index: number, told: List): void {
    const lacking = this.accepted ? told.slice(this.#wanted(told).length) : told;
    this.#lacks(index, lacking, this.accepted ? NOT_PERMITTED : undefined);
  }

  /**
   * Gives an entry that this receiver has made, or a directory, what was told. What cannot be set is counted.
   * @throws errors of the system
   */
  set(index: number, told: List, path: string): void {
    if (!this.accepted) {
      this.#lacks(index, told, undefined);
      return;
    }
    const wanted = this.#wanted(told);
    const refused = this.#give(path, wanted);
    const isLess = wanted.length < told.length;
    this.#lacks(index, refused !== undefined || isLess ? told : [], refused ?? NOT_PERMITTED);
  }

  /** Returns the code of the first one that cannot be set. @throws errors of the system */
  #give(path: string, wanted: List): string | undefined {
    let refused: string | undefined;
    const attempt = (call: () => void): void => {
      try {
        call();
      } catch (error) {
        const code = codeOf(error) ?? '';
        if (!REFUSED.has(code) && !isNoneHere(error)) throw error;
        refused ??= code;
      }
    };
    const names = new Set(wanted.map(({ name }) => name));
    let found: readonly string[] = [];
    attempt(() => {
      found = this.#system.list(path);
    });
    // An access control list may come from the directory.
    for (const name of found)
      if (isCarried(name, this.isRoot) && !names.has(name)) attempt(() => this.#system.remove(path, name));
    for (const { name, value } of wanted) attempt(() => this.#system.set(path, name, value));
    return wanted.length === 0 ? undefined : refused;
  }

  #wanted(told: List): List {
    return told.every(({ name }) => isCarried(name, this.isRoot))
      ? told
      : told.filter(({ name }) => isCarried(name, this.isRoot));
  }

  /** Returns true: there is nothing to set. */
  #lacks(index: number, lacking: List, code: string | undefined): true {
    if (lacking.length === 0) this.#unset.delete(index);
    else this.#unset.set(index, code);
    return true;
  }

  get #system(): AttributeCalls {
    this.#calls ??= this.load();
    return this.#calls;
  }
}
