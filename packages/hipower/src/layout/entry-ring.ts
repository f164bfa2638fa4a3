/**
 * A ring of entries of four words between two threads, one writing and one reading. Head and tail are free-running
 * counts; only these are accessed atomically, and they publish the entries. An atomic access costs as much as the rest
 * of a message's way through the ring, so each count is published once for several entries if the other side does not wait.
 * The users of the ring ensure that it is never full. Nothing is allocated per entry. It is not the ring of @rdmc/dataplane, whose
 * records are bytes of any length with a header of four words, and it is not a `Fifo`, which belongs to one thread.
 */
const ENTRY_SHIFT = 2;
/** A count is published after this many entries without a call of `publish`: the other thread's view is at most that old. */
const PUBLISH_EVERY = 16;

export class EntryWriter {
  readonly #mask: number;
  #head: number;
  #published: number;

  constructor(
    private readonly words: Int32Array,
    private readonly headWord: number,
    private readonly entries: Int32Array,
  ) {
    this.#mask = (entries.length >> ENTRY_SHIFT) - 1;
    this.#head = Atomics.load(words, headWord);
    this.#published = this.#head;
  }

  /** The reader sees it at once. */
  push(a: number, b: number, c: number, d: number): void {
    this.append(a, b, c, d);
    this.publish();
  }

  /** The reader sees it after `publish` at the latest. */
  append(a: number, b: number, c: number, d: number): void {
    const at = (this.#head & this.#mask) << ENTRY_SHIFT;
    this.entries[at] = a;
    this.entries[at + 1] = b;
    this.entries[at + 2] = c;
    this.entries[at + 3] = d;
    this.#head = (this.#head + 1) | 0;
    if (this.#head % PUBLISH_EVERY === 0) this.publish();
  }

  publish(): void {
    if (this.#published === this.#head) return;
    this.#published = this.#head;
    Atomics.store(this.words, this.headWord, this.#head);
  }
}

export class EntryReader {
  readonly #mask: number;
  #tail: number;
  #published: number;
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
    this.#published = this.#tail;
    this.#head = this.#tail;
  }

  /** Entries in the ring now. */
  get size(): number {
    this.#head = Atomics.load(this.words, this.headWord);
    return (this.#head - this.#tail) | 0;
  }

  /** Entries that remain of those in the ring at the last look. */
  get sizeSeen(): number {
    return (this.#head - this.#tail) | 0;
  }

  /** Fills `a` to `d` with the next entry; false: the ring is empty. */
  next(): boolean {
    if (this.#tail === this.#head && this.size === 0) {
      this.publish();
      return false;
    }
    const at = (this.#tail & this.#mask) << ENTRY_SHIFT;
    this.a = this.entries[at]!;
    this.b = this.entries[at + 1]!;
    this.c = this.entries[at + 2]!;
    this.d = this.entries[at + 3]!;
    this.#tail = (this.#tail + 1) | 0;
    if (this.#tail % PUBLISH_EVERY === 0) this.publish();
    return true;
  }

  /** Publishes how far this side has read; without it the writer's view lags by PUBLISH_EVERY at most. */
  publish(): void {
    if (this.#published === this.#tail) return;
    this.#published = this.#tail;
    Atomics.store(this.words, this.tailWord, this.#tail);
  }
}
