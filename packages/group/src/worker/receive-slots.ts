import type { OpenMessage } from './open-message.js';

/**
 * The places of receives: what each one expects, and which are free. A place is taken with its receive, and is free again
 * when the receive was filled and no relay needs its header any more. The device may tell both in either order.
 */
export class ReceiveSlots {
  /** The free ones, as a stack. */
  readonly #free: Uint8Array;
  #freeCount: number;
  /** Receives that are not filled. */
  #posted = 0;
  readonly #blocks: Uint32Array;
  /** Undefined for a message that is not known yet. */
  readonly #messages: (OpenMessage | undefined)[];
  readonly #pairs: Uint16Array;
  /** The number of its receive among those of the neighbour, from 1. */
  readonly #numbers: Float64Array;
  readonly #isFilled: Uint8Array;
  /** Relays that have not completed. */
  readonly #relays: Uint8Array;
  /** Receives that were posted for each neighbour. */
  readonly #postedFor: Float64Array;

  constructor(
    /** Receives that are not filled, at most. */
    private readonly window: number,
    /** Relays that have not completed, at most. */
    relaysAhead: number,
    pairs: number,
  ) {
    const slots = window + relaysAhead;
    this.#free = Uint8Array.from({ length: slots }, (_, index) => slots - 1 - index);
    this.#freeCount = slots;
    this.#blocks = new Uint32Array(slots);
    this.#messages = new Array<OpenMessage | undefined>(slots).fill(undefined);
    this.#pairs = new Uint16Array(slots);
    this.#numbers = new Float64Array(slots);
    this.#isFilled = new Uint8Array(slots).fill(1);
    this.#relays = new Uint8Array(slots);
    this.#postedFor = new Float64Array(pairs);
  }

  /** Whether another receive may be posted. */
  get mayPost(): boolean {
    return this.#posted < this.window && this.#freeCount > 0;
  }

  /** A receive is posted. */
  take(pair: number, message: OpenMessage | undefined, block: number): number {
    this.#freeCount -= 1;
    const slot = this.#free[this.#freeCount]!;
    this.#posted += 1;
    this.#postedFor[pair]! += 1;
    this.#pairs[slot] = pair;
    this.#numbers[slot] = this.#postedFor[pair]!;
    this.#messages[slot] = message;
    this.#blocks[slot] = block;
    this.#isFilled[slot] = 0;
    return slot;
  }

  /** The receive was filled. */
  filled(slot: number): void {
    this.#posted -= 1;
    this.#isFilled[slot] = 1;
    this.#messages[slot] = undefined;
    this.#freeUnused(slot);
  }

  /** A relay of that block was posted. */
  relayed(slot: number): void {
    this.#relays[slot]! += 1;
  }

  /** A relay of that block has completed. */
  relayCompleted(slot: number): void {
    this.#relays[slot]! -= 1;
    this.#freeUnused(slot);
  }

  /** The place whose receive, which is not filled, is for that block; −1: none. */
  expecting(message: OpenMessage, block: number): number {
    for (let slot = 0; slot < this.#messages.length; slot += 1) {
      if (this.#messages[slot] === message && this.#blocks[slot] === block) return slot;
    }
    return -1;
  }

  /** The block of a receive that was posted before its message was known. */
  expect(slot: number, block: number): void {
    this.#blocks[slot] = block;
  }

  block(slot: number): number {
    return this.#blocks[slot]!;
  }

  message(slot: number): OpenMessage | undefined {
    return this.#messages[slot];
  }

  pair(slot: number): number {
    return this.#pairs[slot]!;
  }

  number(slot: number): number {
    return this.#numbers[slot]!;
  }

  #freeUnused(slot: number): void {
    if (this.#isFilled[slot] === 0 || this.#relays[slot]! > 0) return;
    this.#free[this.#freeCount] = slot;
    this.#freeCount += 1;
  }
}
