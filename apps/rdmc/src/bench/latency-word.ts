/*
 * The region of a latency test, the same on both sides:
 *
 *   0                     byteLength              OUTGOING_OFFSET          + byteLength
 *   +---------------+-------+--- … --------------+---------------+-------+--- …
 *   | incoming      | round |                    | outgoing      | round |
 *   +---------------+-------+--- … --------------+---------------+-------+--- …
 *
 * `round` is the last u32 of a message. WRITEs are placed in increasing address order, so the message is complete when
 * its round is seen.
 */
import type { MemoryRegion } from '@rdmc/verbs';
import { MAX_LATENCY_BYTES } from './limits.js';

const WORD_BYTES = 4;
export const OUTGOING_OFFSET = MAX_LATENCY_BYTES;

/** The round numbers at the ends of the incoming and the outgoing message. */
export class LatencyWord {
  readonly #words: Int32Array;
  readonly #incoming: number;
  readonly #outgoing: number;

  /** `byteLength` must be a multiple of 4. */
  constructor(region: MemoryRegion, byteLength: number) {
    const view = region.view();
    this.#words = new Int32Array(view.buffer, view.byteOffset, view.byteLength / WORD_BYTES);
    this.#incoming = byteLength / WORD_BYTES - 1;
    this.#outgoing = (OUTGOING_OFFSET + byteLength) / WORD_BYTES - 1;
  }

  clear(): void {
    Atomics.store(this.#words, this.#incoming, 0);
  }

  prepare(round: number): void {
    this.#words[this.#outgoing] = round;
  }

  holds(round: number): boolean {
    return Atomics.load(this.#words, this.#incoming) === round;
  }
}
