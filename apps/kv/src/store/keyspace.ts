import { SLOTS } from '../limits.js';
import { type Entry, NO_EXPIRY } from './entry.js';

/** Keys and what they hold, by hash slot. Removed keys are in it too, for a while. */
export class Keyspace {
  readonly #slots: (Map<string, Entry> | undefined)[] = new Array(SLOTS).fill(undefined);
  readonly #live = new Int32Array(SLOTS);
  /** Keys with an expiry, of all slots, in the order in which they got it. */
  readonly expiring = new Map<string, number>();
  #size = 0;

  /** Keys that hold something, expired ones included until they are found. */
  get size(): number {
    return this.#size;
  }

  sizeOf(slot: number): number {
    return this.#live[slot]!;
  }

  get(slot: number, key: string): Entry | undefined {
    return this.#slots[slot]?.get(key);
  }

  /** What was there before is returned. */
  set(slot: number, key: string, entry: Entry): Entry | undefined {
    let keys = this.#slots[slot];
    if (!keys) {
      keys = new Map();
      this.#slots[slot] = keys;
    }
    const before = keys.get(key);
    keys.set(key, entry);
    this.#count(slot, key, before, entry);
    return before;
  }

  delete(slot: number, key: string): void {
    const keys = this.#slots[slot];
    const before = keys?.get(key);
    if (!keys || !before) return;
    keys.delete(key);
    this.#count(slot, key, before, undefined);
    if (keys.size === 0) this.#slots[slot] = undefined;
  }

  *entries(slot: number): Generator<[string, Entry], void> {
    for (const pair of this.#slots[slot] ?? []) if (pair[1].value !== undefined) yield pair;
  }

  #count(slot: number, key: string, before: Entry | undefined, after: Entry | undefined): void {
    const change = Number(after?.value !== undefined) - Number(before?.value !== undefined);
    this.#size += change;
    this.#live[slot]! += change;
    const expires = after?.value !== undefined && after.expiresAt !== NO_EXPIRY;
    if (expires) this.expiring.set(key, slot);
    else if (before && before.expiresAt !== NO_EXPIRY) this.expiring.delete(key);
  }
}
