import type { Hash, KeyEntry } from './hash.js';
import type { Keyspace } from './keyspace.js';
import type { TurnAppends } from './turn-appends.js';

/**
 * Keeps removals apart from other writes while the log is short of room: a full log takes an append of removals, and refuses one
 * that has a value. Then appends need others to happen:
 *
 * - An append with values needs all appends before it.
 * - An append of removals needs those without acknowledgement that its command has read from, or that changed its keys before.
 *   A command of one key that needs none joins another such append; each other command has an append of its own, so that what
 *   it needs does not have the removals of others refused.
 *
 * Where the log refuses an append, those that need it did not happen either, and the others stay (see `SentAppends`). A key is
 * changed by an append only if that needs the last append that changed the key: so those that stay do not have keys of those
 * that did not happen.
 */
export class Separation {
  /** What the command that runs needs. */
  readonly #needs = new Set<number>();
  /** The last append with a write of the command; 0: it has not written. */
  #wrote = 0;
  #isRunning = false;
  #keys: 'one' | 'some' | 'all' = 'one';

  constructor(
    private readonly keyspace: Keyspace,
    private readonly turn: TurnAppends,
  ) {}

  /** Whether appends that are not acknowledged may be apart from others: `begin` and `end` are called around each command then. */
  get isOn(): boolean {
    return this.turn.isApart || this.turn.lastApart > this.keyspace.acknowledged;
  }

  /**
   * A command begins. A write outside of `begin` and `end` counts as a command of its own.
   * @param keys how many keys it may look at
   */
  begin(keys: 'one' | 'some' | 'all'): void {
    this.#reset();
    this.#isRunning = true;
    this.#keys = keys;
  }

  /**
   * The command is over.
   * @param sequence the append that its reply waits for
   * @returns the first append that the reply depends on. An append that the command wrote to needs all that the command has read.
   */
  end(sequence: number): number {
    let since = sequence;
    if (this.#wrote === 0) {
      for (const need of this.#needs) since = Math.min(since, need);
      // A number of keys depends on more than its last change.
      if (this.#keys === 'all') since = Math.min(since, this.keyspace.acknowledged + 1);
    }
    this.#reset();
    return since;
  }

  /** The command has read what this append wrote. */
  reads(sequence: number): void {
    if (this.#isRunning) this.#add(sequence);
  }

  /** The key with this entry is about to be removed. */
  removes(entry: KeyEntry | undefined): void {
    if (!this.#isRunning) this.#reset();
    if (!entry) return;
    this.#add(entry.sequence);
    if (typeof entry.value === 'object') this.#add(entry.value.sequence);
  }

  /** A field of the hash is about to be removed; the command has read its key. */
  removesField(hash: Hash): void {
    if (!this.#isRunning) this.#reset();
    this.#add(hash.sequence);
  }

  /** A write is about to be added to the turn's appends, for which there is room: begins a new append where it must. */
  place(isRemoval: boolean): void {
    const { turn } = this;
    if (this.#keys === 'all' && this.#wrote === 0) this.#addRemoved();
    if (!turn.isWhole && !this.#mayJoin(isRemoval)) turn.advance();
    if (!isRemoval) turn.needs = undefined;
    else if (turn.isEmpty) turn.needs = this.#wrote === 0 ? [...this.#needs] : [...this.#needs, this.#wrote];
    if (this.#isRunning) this.#wrote = turn.sequence;
  }

  /** What the command wrote was undone. */
  undone(): void {
    this.#wrote = 0;
  }

  /** Whether a write may be in the append that is being filled. */
  #mayJoin(isRemoval: boolean): boolean {
    const { isEmpty, needs, sequence } = this.turn;
    if (isEmpty) return true;
    if (!isRemoval || !needs) return !isRemoval && !needs;
    if (this.#wrote > 0) return this.#wrote === sequence;
    return this.#keys === 'one' && this.#needs.size === 0 && needs.length === 0;
  }

  /** The command depends on removed keys without looking at them. There may be very many: so only for commands that write. */
  #addRemoved(): void {
    for (const [key, slot] of this.keyspace.removed) this.#add(this.keyspace.get(slot, key)!.sequence);
  }

  #add(sequence: number): void {
    const { turn } = this;
    if (sequence <= this.keyspace.acknowledged || this.#needs.has(sequence)) return;
    // The command itself wrote to that append, and writes of one append happen together.
    if (sequence === this.#wrote) return;
    this.#needs.add(sequence);
    if (this.#wrote === turn.sequence) turn.needs?.push(sequence);
  }

  #reset(): void {
    this.#needs.clear();
    this.#wrote = 0;
    this.#isRunning = false;
    this.#keys = 'one';
  }
}
