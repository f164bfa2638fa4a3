import { SLOTS } from '../limits.js';
import type { Request } from './request.js';

/** All requests of the slot may go. Epochs are above it. */
const OPEN = 0;
/** Requests of the slot wait behind others. */
const CLOSED = -1;

/**
 * Keeps the requests of each slot in the order in which they came, while slots go from server to server. Two rules:
 *
 * - A request does not pass one of its slot that waits.
 * - The unanswered requests of a slot were all sent by one slot table. Requests by a newer table wait for their answers: otherwise the
 *   earlier ones may be refused, and later ones be done, by another server, or by the same one when it serves the slot again.
 *
 * The other server does its part: see `RefusedSlots`.
 */
export class SlotOrder {
  /** Of each slot: its requests at another server. */
  readonly #unanswered = new Uint32Array(SLOTS);
  /** Of each slot: its requests that wait here. */
  readonly #waiting = new Uint32Array(SLOTS);
  /** Of each slot, so that a command needs one look: OPEN, CLOSED, or the epoch of the table that unanswered requests were sent by. */
  readonly #gates = new Float64Array(SLOTS);

  /** Whether a request that comes now may go by the table of this epoch. */
  mayGo(slot: number, epoch: number): boolean {
    const gate = this.#gates[slot];
    return gate === OPEN || gate === epoch;
  }

  /** The same for all slots of a request. */
  mayAllGo({ slot, slots }: Request, epoch: number): boolean {
    if (slots === undefined) return this.mayGo(slot, epoch);
    return slots.every((each) => this.mayGo(each, epoch));
  }

  /** Whether the earlier requests of its slots are answered: then one that waits, and that no other one waits before, may go. */
  mayLeave({ slot, slots = [slot] }: Request): boolean {
    return slots.every((each) => this.#unanswered[each] === 0);
  }

  /** A request goes to another server. */
  sent({ slot, slots }: Request, epoch: number): void {
    if (slots === undefined) this.#sent(slot, epoch);
    else for (const each of slots) this.#sent(each, epoch);
  }

  /** It was done there, refused or lost. Returns whether requests that wait may go now. */
  answered({ slot, slots }: Request): boolean {
    if (slots === undefined) return this.#answered(slot);
    let mayOthersGo = false;
    for (const each of slots) mayOthersGo = this.#answered(each) || mayOthersGo;
    return mayOthersGo;
  }

  waits({ slot, slots = [slot] }: Request): void {
    for (const each of slots) {
      this.#waiting[each]! += 1;
      this.#gates[each] = CLOSED;
    }
  }

  /** A request does not wait any more. */
  left({ slot, slots = [slot] }: Request): void {
    for (const each of slots) {
      this.#waiting[each]! -= 1;
      if (this.#waiting[each] === 0 && this.#unanswered[each] === 0) this.#gates[each] = OPEN;
    }
  }

  #sent(slot: number, epoch: number): void {
    this.#unanswered[slot]! += 1;
    if (this.#waiting[slot] === 0) this.#gates[slot] = epoch;
  }

  #answered(slot: number): boolean {
    this.#unanswered[slot]! -= 1;
    if (this.#unanswered[slot]! > 0) return false;
    if (this.#waiting[slot]! > 0) return true;
    this.#gates[slot] = OPEN;
    return false;
  }
}
