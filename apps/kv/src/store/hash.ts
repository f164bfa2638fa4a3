import type { Entry } from './entry.js';

/** The fields of a hash as they were at one moment, with removed ones whose removal is not acknowledged. */
export interface HashCopy {
  readonly names: readonly string[];
  readonly entries: readonly Entry[];
}

/** The fields of a key. The key's own entry, the head, has its generation and its expiry; each field has an entry. */
export class Hash {
  /** In the order in which they were added, with removed fields whose removal is not acknowledged. */
  readonly #fields = new Map<string, Entry>();
  #size = 0;
  /** The last append that changed a field: replies about all fields wait for it. */
  sequence = 0;
  /** The version of the last change, the generation at first. */
  version: number;

  /** @param generation the version of the head at its creation: fields with a lower version are of an earlier hash */
  constructor(readonly generation: number) {
    this.version = generation;
  }

  /** Number of fields with a value. */
  get size(): number {
    return this.#size;
  }

  get(field: string): Entry | undefined {
    return this.#fields.get(field);
  }

  /** Returns the previous entry. */
  set(field: string, entry: Entry): Entry | undefined {
    const before = this.#fields.get(field);
    // A field that is added again comes last.
    if (before && before.value === undefined) this.#fields.delete(field);
    this.#fields.set(field, entry);
    this.#size += Number(entry.value !== undefined) - Number(before?.value !== undefined);
    return before;
  }

  delete(field: string): void {
    const before = this.#fields.get(field);
    if (!before) return;
    this.#fields.delete(field);
    if (before.value !== undefined) this.#size -= 1;
  }

  /** Fields that have a value. */
  *entries(): Generator<[string, Entry<string> & { readonly value: string }], void> {
    for (const pair of this.#fields) {
      if (pair[1].value !== undefined) yield pair as [string, Entry<string> & { readonly value: string }];
    }
  }

  /** All fields with their entries, which do not change, as they are now: some tens of nanoseconds for each. */
  copy(): HashCopy {
    return { names: [...this.#fields.keys()], entries: [...this.#fields.values()] };
  }

  /** The entries of all fields, with those that were removed. */
  all(): Iterable<Entry> {
    return this.#fields.values();
  }
}

/** A string has one character per byte. */
export type KeyValue = string | Hash;
export type KeyEntry = Entry<KeyValue>;
