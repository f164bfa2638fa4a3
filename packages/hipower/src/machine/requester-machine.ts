import { bitOf, lowestBit, powerOfTwo, wordsFor } from './bits.js';
import { Violation } from './violation.js';

/** When a bit of R may become visible to the responder. */
export type AnnounceAt = 'posting' | 'completion';

export interface RequesterMemory {
  readonly slots: number;
  /** R as the responder may see it; only this machine writes it, by atomic xor. */
  readonly announced: Int32Array;
  /** The target of READs of P. */
  readonly landing: Int32Array;
  /**
   * 'completion': a bit toggles when its WRITE has completed (pull, or a device that does not order writes).
   * 'posting': when its WRITE was posted; only a snapshot that is queued behind that WRITE may carry it.
   */
  readonly announceAt: AnnounceAt;
}

/** Receives the slots that are free again. */
export interface FreeSlots {
  freed(slot: number): void;
}

const Word = { ORDER_HEAD: 0, ORDER_TAIL: 1, READING: 2, NEXT: 3 } as const;
const HEADER_WORDS = 4;

/** Words of private state a {@link RequesterMachine} needs. */
export function requesterStateWords(slots: number): number {
  return HEADER_WORDS + 4 * wordsFor(slots) + powerOfTwo(slots) + slots;
}

/**
 * The requester's part of the protocol towards one responder (HiPower, section 3.1). Per slot:
 * FREE → `posted` → WRITING → `completed`, in posting order → FULL → a READ of P shows P = R → FREE.
 * After `broke`, what was WRITING is LOST until `resume` starts the next generation.
 *
 * Pure: all of its state is in the arrays that it is given, and it only calls `free`.
 */
export class RequesterMachine {
  readonly #slots: number;
  readonly #words: number;
  readonly #state: Int32Array;
  readonly #announced: Int32Array;
  readonly #landing: Int32Array;
  readonly #atPosting: boolean;
  /** R, counting completed writes only. */
  readonly #done: Int32Array;
  /** P of the last READ. */
  readonly #known: Int32Array;
  /** FULL: R ≠ P as far as this side knows. */
  readonly #full: Int32Array;
  /** WRITING, LOST or FULL. */
  readonly #busy: Int32Array;
  /** Slots in posting order, from head to tail. */
  readonly #order: Int32Array;
  readonly #orderMask: number;
  readonly #sequence: Int32Array;

  constructor(
    memory: RequesterMemory,
    private readonly free: FreeSlots,
    state: Int32Array = new Int32Array(requesterStateWords(memory.slots)),
  ) {
    const words = wordsFor(memory.slots);
    const ring = powerOfTwo(memory.slots);
    const bitmap = (index: number): Int32Array =>
      state.subarray(HEADER_WORDS + index * words, HEADER_WORDS + (index + 1) * words);
    this.#slots = memory.slots;
    this.#words = words;
    this.#state = state;
    this.#announced = memory.announced;
    this.#landing = memory.landing;
    this.#atPosting = memory.announceAt === 'posting';
    this.#done = bitmap(0);
    this.#known = bitmap(1);
    this.#full = bitmap(2);
    this.#busy = bitmap(3);
    const orderAt = HEADER_WORDS + 4 * words;
    this.#order = state.subarray(orderAt, orderAt + ring);
    this.#orderMask = ring - 1;
    this.#sequence = state.subarray(orderAt + ring, orderAt + ring + memory.slots);
  }

  /** How many writes have been posted, modulo 2^32: what `completed` counts up to. */
  get postedCount(): number {
    return this.#state[Word.ORDER_TAIL]!;
  }

  /** How many of them have completed. */
  get completedCount(): number {
    return this.#state[Word.ORDER_HEAD]!;
  }

  /** Some WRITE has not completed. */
  get writing(): boolean {
    return this.#state[Word.ORDER_HEAD] !== this.#state[Word.ORDER_TAIL];
  }

  /** Some slot is FULL: a READ of P may show a release. */
  get hasFull(): boolean {
    for (let w = 0; w < this.#words; w += 1) if (this.#full[w] !== 0) return true;
    return false;
  }

  /** Whether the slot is WRITING, LOST or FULL. */
  isBusy(slot: number): boolean {
    return (this.#busy[slot >> 5]! & bitOf(slot)) !== 0;
  }

  /** The sequence number with which the slot was posted last. */
  sequenceOf(slot: number): number {
    return this.#sequence[slot]!;
  }

  /** The WRITE of a FREE slot was posted, or will be before its bit is pushed. */
  posted(slot: number, sequence: number): void {
    const tail = this.#state[Word.ORDER_TAIL]!;
    this.#order[tail & this.#orderMask] = slot;
    this.#state[Word.ORDER_TAIL] = (tail + 1) | 0;
    this.#sequence[slot] = sequence;
    this.#busy[slot >> 5]! |= bitOf(slot);
    const next = (sequence + 1) | 0;
    if (((next - this.#state[Word.NEXT]!) | 0) > 0) this.#state[Word.NEXT] = next;
    if (this.#atPosting) this.announce(slot >> 5, bitOf(slot));
  }

  /** The writes up to this count have completed successfully: completions are in order, so one is enough for all. */
  completed(upTo: number): void {
    let head = this.#state[Word.ORDER_HEAD]!;
    let w = 0;
    let bits = 0;
    for (; head !== upTo; head = (head + 1) | 0) {
      const slot = this.#order[head & this.#orderMask]!;
      // Consecutive slots mostly share a word, and are announced together.
      if (slot >> 5 !== w) {
        this.#complete(w, bits);
        w = slot >> 5;
        bits = 0;
      }
      bits |= bitOf(slot);
    }
    this.#complete(w, bits);
    this.#state[Word.ORDER_HEAD] = head;
  }

  /** A READ of P is outstanding. */
  get reading(): boolean {
    return this.#state[Word.READING] === 1;
  }

  /** At most one READ of P is outstanding, because an old answer could undo a newer one. False: there is one. */
  beginRead(): boolean {
    if (this.#state[Word.READING] === 1) return false;
    this.#state[Word.READING] = 1;
    return true;
  }

  /** The READ of P has completed; frees the slots that it shows. @throws Violation for a bit that cannot have toggled */
  readReturned(): void {
    this.#state[Word.READING] = 0;
    for (let w = 0; w < this.#words; w += 1) this.#learn(w, this.#landing[w]!);
    this.collect();
  }

  /** The responder confirmed a single slot (confirmation per work request). @throws Violation */
  recycled(slot: number): void {
    if (!(slot >= 0 && slot < this.#slots)) {
      throw new Violation('ERR_RDMC_HIPOWER_BITMAP', `the responder released slot ${slot} of ${this.#slots}`);
    }
    const w = slot >> 5;
    this.#learn(w, this.#known[w]! ^ bitOf(slot));
    this.#collectWord(w);
  }

  /** Frees slots that are both completed and released; either may come first. */
  collect(): void {
    for (let w = 0; w < this.#words; w += 1) this.#collectWord(w);
  }

  /** The connection failed: slots that were not completed are LOST, and so is an outstanding READ. */
  broke(): void {
    this.#state[Word.READING] = 0;
  }

  /**
   * Starts the next generation from the responder's own account: `claimed` is R as far as it has claimed slots,
   * `released` its P, `next` the sequence number it delivers next. Frees the slots that it has released, and returns the
   * slots to write again, in order.
   * @throws Violation if the account contradicts what was posted
   */
  resume(claimed: Int32Array, released: Int32Array, next: number): number[] {
    this.#checkAccount(claimed, released, next);
    this.#state[Word.READING] = 0;
    this.#state[Word.ORDER_HEAD] = 0;
    this.#state[Word.ORDER_TAIL] = 0;
    for (let w = 0; w < this.#words; w += 1) {
      this.#done[w] = claimed[w]!;
      this.#announced[w] = claimed[w]!;
      this.#known[w] = released[w]!;
      this.#landing[w] = released[w]!;
      this.#full[w] = claimed[w]! ^ released[w]!;
    }
    const again: number[] = [];
    for (let slot = 0; slot < this.#slots; slot += 1) {
      if (!this.isBusy(slot) || (this.#full[slot >> 5]! & bitOf(slot)) !== 0) continue;
      if (this.#isFrom(slot, next)) again.push(slot);
      else this.#release(slot);
    }
    return again.sort((a, b) => (this.#sequence[a]! - this.#sequence[b]!) | 0);
  }

  /** The responder does not need this side any longer: every slot is free, whatever the last P was. */
  dismiss(): void {
    this.#full.fill(0);
    for (let slot = 0; slot < this.#slots; slot += 1) if (this.isBusy(slot)) this.#release(slot);
  }

  /**
   * Announces slots to the responder. Slots announced at posting are visible through snapshots only, which
   * this thread makes; words that a peer reads are changed atomically.
   */
  protected announce(w: number, bits: number): void {
    if (this.#atPosting) this.#announced[w]! ^= bits;
    else Atomics.xor(this.#announced, w, bits);
  }

  #complete(w: number, bits: number): void {
    if (bits === 0) return;
    this.#done[w]! ^= bits;
    this.#full[w]! |= bits;
    if (!this.#atPosting) this.announce(w, bits);
  }

  #learn(w: number, released: number): void {
    const changed = released ^ this.#known[w]!;
    if (changed === 0) return;
    if ((changed & ~(this.#announced[w]! ^ this.#known[w]!)) !== 0) {
      throw new Violation(
        'ERR_RDMC_HIPOWER_BITMAP',
        'the responder released an empty slot: a bit of P toggled where P = R',
      );
    }
    this.#known[w] = released;
  }

  #collectWord(w: number): void {
    let free = this.#full[w]! & ~(this.#done[w]! ^ this.#known[w]!);
    this.#full[w]! ^= free;
    while (free !== 0) {
      const bit = lowestBit(free);
      free &= free - 1;
      this.#release(w * 32 + bit);
    }
  }

  #release(slot: number): void {
    this.#busy[slot >> 5]! &= ~bitOf(slot);
    this.free.freed(slot);
  }

  /**
   * `next` determines for every slot whether its last content was delivered, and so each bit of `claimed`. The responder
   * only decides whether delivered slots are released. Everything else must be as it was posted; otherwise slots
   * would be freed that were never delivered, or the requester would wait for slots that are never sent.
   */
  #checkAccount(claimed: Int32Array, released: Int32Array, next: number): void {
    let missing = (this.#state[Word.NEXT]! - next) | 0;
    let fits = missing >= 0;
    for (let w = 0; w < this.#words; w += 1) {
      const undelivered = this.#undelivered(w, next);
      for (let left = undelivered; left !== 0; left &= left - 1) missing -= 1;
      const written = this.#done[w]! ^ (this.#busy[w]! & ~this.#full[w]!);
      const held = claimed[w]! ^ released[w]!;
      fits &&= claimed[w] === (written ^ undelivered) && (held & ~(this.#busy[w]! & ~undelivered)) === 0;
    }
    if (fits && missing === 0) return;
    throw new Violation(
      'ERR_RDMC_HIPOWER_BITMAP',
      "the responder's account contradicts what was sent: it claims or releases slots that it cannot have, " +
        `or expects slot ${next} next where ${this.#state[Word.NEXT]} were sent`,
    );
  }

  /** The slots of a word whose content has this sequence number or a later one. */
  #undelivered(w: number, next: number): number {
    let bits = 0;
    for (let left = this.#busy[w]!; left !== 0; left &= left - 1) {
      const slot = w * 32 + lowestBit(left);
      if (this.#isFrom(slot, next)) bits |= bitOf(slot);
    }
    return bits;
  }

  #isFrom(slot: number, sequence: number): boolean {
    return ((this.#sequence[slot]! - sequence) | 0) >= 0;
  }
}
