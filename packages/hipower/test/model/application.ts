import type { ModelMemory } from '@rdmc/testing';
import { payloadOffset } from '../../src/layout/footer.js';

export const SLOT_BYTES = 8;
export const STRIDE = 32;
/** In place of a message: its payload is there in part. */
const TORN = -1;
const Work = { NONE: 0, DELIVERED: 1, WORKING: 2, DONE: 3 } as const;

/** The responder's application: the slots, what was delivered in which of them, and how far the work on it is. */
export class Application {
  readonly pool: Int32Array;
  readonly #work: Int32Array;
  readonly #message: Int32Array;
  readonly #releases: Int32Array;
  readonly #consumed: Int32Array;

  /** `releases`: how often it releases each message. */
  constructor(
    memory: ModelMemory,
    slots: number,
    private readonly releases: number,
  ) {
    this.pool = memory.take((slots * STRIDE) / 4);
    this.#work = memory.take(slots);
    this.#message = memory.take(slots);
    this.#releases = memory.take(slots);
    this.#consumed = memory.take(1);
  }

  /** Messages that were delivered. */
  get consumed(): number {
    return this.#consumed[0]!;
  }

  get hasReleasedAll(): boolean {
    return this.#work.every((work) => work === Work.NONE);
  }

  tear(slot: number): void {
    this.pool[payloadOffset(slot, STRIDE, SLOT_BYTES) / 4] = TORN;
  }

  /** A message and its footer are in a slot. */
  write(slot: number, message: number, generation: number): void {
    this.pool[payloadOffset(slot, STRIDE, SLOT_BYTES) / 4] = message;
    this.pool.set([message, SLOT_BYTES, generation, 0], ((slot + 1) * STRIDE - 16) / 4);
  }

  addSteps(add: (possible: boolean, step: string) => void): void {
    for (let slot = 0; slot < this.#work.length; slot += 1) {
      const work = this.#work[slot];
      add(work === Work.DELIVERED, `begin ${slot}`);
      add(work === Work.WORKING, `finish ${slot}`);
      add(work === Work.DONE && this.#releases[slot]! < this.releases, `release ${slot}`);
    }
  }

  delivered(slot: number): void {
    if (this.#work[slot] !== Work.NONE && this.#work[slot] !== Work.DONE) {
      throw new Error(`slot ${slot} was delivered while the application works on it`);
    }
    this.#message[slot] = this.consumed;
    this.#consumed[0]! += 1;
    this.#work[slot] = Work.DELIVERED;
  }

  begin(slot: number): void {
    this.#check(slot);
    this.#work[slot] = Work.WORKING;
  }

  finish(slot: number): void {
    this.#check(slot);
    this.#work[slot] = Work.DONE;
    this.#releases[slot] = 0;
  }

  release(slot: number): void {
    this.#releases[slot]! += 1;
    if (this.#releases[slot] === this.releases) this.#work[slot] = Work.NONE;
  }

  /** It reads the expected message, completely. */
  #check(slot: number): void {
    const found = this.pool[payloadOffset(slot, STRIDE, SLOT_BYTES) / 4];
    if (found !== this.#message[slot]) {
      throw new Error(`message ${this.#message[slot]} reads ${found === TORN ? 'torn' : found}`);
    }
  }
}
