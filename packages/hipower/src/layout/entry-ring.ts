/**
 * A ring of entries of four words between two threads, one writing and one reading. Head and tail are free-running
 * counts; only they are accessed atomically, and they publish the entries. Who uses it makes sure that it is never
 * full. Nothing is allocated per entry.
 */
const ENTRY_SHIFT = 2;

export class EntryWriter {
  readonly #mask: number;
  #head: number;

  constructor(
    private readonly words: Int32Array,
    private readonly headWord: number,
    private readonly entries: Int32Array,
  ) {
    this.#mask = (entries.length >> ENTRY_SHIFT) - 1;
    this.#head = Atomics.load(words, headWord);
  }

  push(a: number, b: number, c: number, d: number): void {
    const at = (this.#head & this.#mask) << ENTRY_SHIFT;
    this.entries[at] = a;
    this.entries[at + 1] = b;
    this.entries[at + 2] = c;
    this.entries[at + 3] = d;
    this.#head = (this.#head + 1) | 0;
    Atomics.store(this.words, this.headWord, this.#head);
  }
}

export class EntryReader {
  readonly #mask: number;
  #tail: number;
  #head: number;
  a = 0;
  b = 0;
  c = 0;
  d = 0;

  constructor(
    private readonly words: Int32Array,
    private readonly headWord: number,
    private readonly tailWord: number,
    private readonly entries: Int32Array,
  ) {
    this.#mask = (entries.length >> ENTRY_SHIFT) - 1;
    this.#tail = Atomics.load(words, tailWord);
    this.#head = this.#tail;
  }

  /** Entries that lie in the ring now; may be read by either thread. */
  get size(): number {
    return (Atomics.load(this.words, this.headWord) - Atomics.load(this.words, this.tailWord)) | 0;
  }

  /** Fills `a` to `d` with the next entry; false: there is none. */
  next(): boolean {
    if (this.#tail === this.#head) {
      this.#head = Atomics.load(this.words, this.headWord);
      if (this.#tail === this.#head) return false;
    }
    const at = (this.#tail & this.#mask) << ENTRY_SHIFT;
    this.a = this.entries[at]!;
    this.b = this.entries[at + 1]!;
    this.c = this.entries[at + 2]!;
    this.d = this.entries[at + 3]!;
    this.#tail = (this.#tail + 1) | 0;
    Atomics.store(this.words, this.tailWord, this.#tail);
    return true;
  }
}
