import { FooterWord, footerIndex } from '../layout/footer.js';
import { bitOf, lowestBit, powerOfTwo, validBits, wordsFor } from './bits.js';
import { Violation } from './violation.js';

export interface ResponderMemory {
  readonly slots: number;
  /** Bytes from one slot of the pool to the next. */
  readonly stride: number;
  /** Largest payload of a slot. */
  readonly slotBytes: number;
  /** The pool, for the footers. */
  readonly pool: Int32Array;
  /** R as last read or pushed. */
  readonly landing: Int32Array;
  /** P: a release toggles it, by atomic xor. */
  readonly released: Int32Array;
}

/** Receives the slots that arrived, in the order in which they were sent. */
export interface Deliveries {
  /** The next slot in order; `remainingBytes` of the same message follow in other slots. */
  delivered(slot: number, byteLength: number, remainingBytes: number): void;
}

const Word = { NEXT: 0, READING: 1, GENERATION: 2, EXPECTED: 3, END_SEEN: 4 } as const;
const HEADER_WORDS = 5;

/** Words of private state a {@link ResponderMachine} needs. */
export function responderStateWords(slots: number): number {
  return HEADER_WORDS + wordsFor(slots) + powerOfTwo(slots);
}

/**
 * The responder's part of the protocol towards one requester (HiPower, section 3.1). Per slot:
 * EMPTY → R ≠ P seen, and not claimed → CLAIMED, footer checked → delivered, in order of sequence → the
 * application works on it → P toggles → EMPTY.
 *
 * The claim mark is the value of R when the slot was claimed: a slot has new content exactly if R differs
 * from it. The application must have released the old content by then; that is checked.
 * Pure: all of its state is in the arrays that it is given, and it only calls `deliveries`.
 */
export class ResponderMachine {
  readonly #slots: number;
  readonly #words: number;
  readonly #state: Int32Array;
  readonly #claimed: Int32Array;
  /** Claimed slots that wait for an earlier one, as slot + 1, by sequence. */
  readonly #order: Int32Array;
  readonly #orderMask: number;

  constructor(
    private readonly memory: ResponderMemory,
    private readonly deliveries: Deliveries,
    state: Int32Array = new Int32Array(responderStateWords(memory.slots)),
  ) {
    const words = wordsFor(memory.slots);
    const ring = powerOfTwo(memory.slots);
    this.#slots = memory.slots;
    this.#words = words;
    this.#state = state;
    this.#claimed = state.subarray(HEADER_WORDS, HEADER_WORDS + words);
    this.#order = state.subarray(HEADER_WORDS + words, HEADER_WORDS + words + ring);
    this.#orderMask = ring - 1;
  }

  /** Sequence number of the slot that is delivered next. */
  get next(): number {
    return this.#state[Word.NEXT]!;
  }

  /** The generation of the connection. */
  get generation(): number {
    return this.#state[Word.GENERATION]!;
  }

  /** Missing bytes of the message whose first slots were delivered. */
  get expectedBytes(): number {
    return this.#state[Word.EXPECTED]!;
  }

  /** A READ of R is outstanding. */
  get reading(): boolean {
    return this.#state[Word.READING] === 1;
  }

  /** At most one READ of R is outstanding, because an old answer could undo a newer one. False: there is one. */
  beginRead(): boolean {
    if (this.#state[Word.READING] === 1) return false;
    this.#state[Word.READING] = 1;
    return true;
  }

  /** The READ of R has completed. */
  readReturned(): void {
    this.#state[Word.READING] = 0;
  }

  /** Claims and delivers the slots that the bitmap shows; returns whether there were any. @throws Violation */
  take(): boolean {
    let found = false;
    const { landing } = this.memory;
    for (let w = 0; w < this.#words; w += 1) {
      // Most looks are fruitless, and an atomic access costs ten times a plain one: only the access that orders footers
      // behind it is atomic. If a plain one misses a bit, the next look sees it.
      if (this.fresh(w, landing[w]!) === 0) continue;
      const fresh = this.fresh(w, Atomics.load(landing, w));
      if (fresh === 0) continue;
      found = true;
      this.#takeWord(w, fresh);
    }
    return found;
  }

  /**
   * The last board says that the requester has ended after `total` slots. True: all of them have arrived.
   * False: bits of that board may be older than its end flag, so one more look is needed.
   * @throws Violation if slots are missing after that look
   */
  ended(total: number): boolean {
    if (this.hasAll(total)) return true;
    if (this.endSeen()) {
      throw new Violation(
        'ERR_RDMC_HIPOWER_INCOMPLETE',
        `the requester ended after slot ${total}, but slot ${this.next} did not arrive`,
      );
    }
    this.#state[Word.END_SEEN] = 1;
    return false;
  }

  /** Every slot before `total` was delivered, and the last message is complete. */
  hasAll(total: number): boolean {
    return this.#state[Word.NEXT] === total && this.#state[Word.EXPECTED] === 0;
  }

  /** A single slot was announced (confirmation per work request). @throws Violation */
  arrived(slot: number): void {
    if (!(slot >= 0 && slot < this.#slots)) {
      throw new Violation('ERR_RDMC_HIPOWER_BITMAP', `the requester wrote slot ${slot} of ${this.#slots}`);
    }
    this.memory.landing[slot >> 5]! ^= bitOf(slot);
    this.#takeWord(slot >> 5, bitOf(slot));
  }

  /**
   * The connection has ended (its queue pair does not accept writes any longer), and generation `generation` follows. Slots
   * that were claimed and not delivered will be sent again.
   */
  restart(generation: number): void {
    for (let i = 0; i <= this.#orderMask; i += 1) {
      const slot = this.#order[i]! - 1;
      if (slot >= 0) this.#claimed[slot >> 5]! ^= bitOf(slot);
      this.#order[i] = 0;
    }
    for (let w = 0; w < this.#words; w += 1) this.memory.landing[w] = this.#claimed[w]!;
    this.#state[Word.READING] = 0;
    this.#state[Word.END_SEEN] = 0;
    this.#state[Word.GENERATION] = generation;
  }

  /** R of the claimed slots: with P and `next`, the account that a requester resumes from. */
  claimedWord(w: number): number {
    return this.#claimed[w]!;
  }

  /** The bits of a word of R that mark new content. */
  protected fresh(w: number, landed: number): number {
    return landed ^ this.#claimed[w]!;
  }

  /** The previous look saw the end flag. */
  protected endSeen(): boolean {
    return this.#state[Word.END_SEEN] === 1;
  }

  #takeWord(w: number, fresh: number): void {
    const held = Atomics.load(this.memory.released, w) ^ this.#claimed[w]!;
    if ((fresh & (held | ~validBits(w, this.#slots))) !== 0) {
      throw new Violation(
        'ERR_RDMC_HIPOWER_BITMAP',
        'the requester marked a slot that it may not write: beyond the pool, or not released yet',
      );
    }
    for (let left = fresh; left !== 0; left &= left - 1) this.#claim(w * 32 + lowestBit(left));
    this.#deliver();
  }

  #claim(slot: number): void {
    const { pool, stride, slotBytes } = this.memory;
    const at = footerIndex(slot, stride);
    const sequence = pool[at + FooterWord.SEQUENCE]!;
    const length = pool[at + FooterWord.LENGTH]! >>> 0;
    const ahead = (sequence - this.#state[Word.NEXT]!) | 0;
    if (pool[at + FooterWord.GENERATION] !== this.#state[Word.GENERATION]) {
      throw new Violation(
        'ERR_RDMC_HIPOWER_GENERATION',
        `slot ${slot} was written by generation ${pool[at + FooterWord.GENERATION]}, not ${this.generation}`,
      );
    }
    if (length > slotBytes || ahead < 0 || ahead >= this.#slots) {
      throw new Violation(
        'ERR_RDMC_HIPOWER_FOOTER',
        `the footer of slot ${slot} does not match: sequence ${sequence}, while ${this.next} is next, ` +
          `length ${length} of at most ${slotBytes}`,
      );
    }
    if (this.#order[sequence & this.#orderMask] !== 0) {
      throw new Violation('ERR_RDMC_HIPOWER_FOOTER', `two slots have sequence number ${sequence}`);
    }
    this.#claimed[slot >> 5]! ^= bitOf(slot);
    this.#order[sequence & this.#orderMask] = slot + 1;
  }

  /** Bits of one READ are unordered: the sequence numbers give the order. */
  #deliver(): void {
    const { pool, stride } = this.memory;
    for (let next = this.#state[Word.NEXT]!; ; next = (next + 1) | 0) {
      const slot = this.#order[next & this.#orderMask]! - 1;
      if (slot < 0) {
        this.#state[Word.NEXT] = next;
        return;
      }
      const at = footerIndex(slot, stride);
      const length = pool[at + FooterWord.LENGTH]!;
      const remaining = pool[at + FooterWord.REMAINING]!;
      const expected = this.#state[Word.EXPECTED]!;
      if (remaining < 0 || (expected !== 0 && length + remaining !== expected)) {
        throw new Violation(
          'ERR_RDMC_HIPOWER_FOOTER',
          `slot ${slot} announces ${length} + ${remaining} bytes of a message that still has ${expected}`,
        );
      }
      this.#order[next & this.#orderMask] = 0;
      this.#state[Word.EXPECTED] = remaining;
      this.deliveries.delivered(slot, length, remaining);
    }
  }
}
