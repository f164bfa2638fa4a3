/**
 * A board: one side's bitmap, with what the other side must learn together with it. Peers READ it (both modes), or
 * have it pushed (R in push mode). 32-bit words, little endian:
 * ```
 *   0  generation of the connection
 *   1  total: the sequence number after the last message, modulo 2^32, once the requester has ended (R only)
 *   2  ~total from then on, 0 before (R only)
 *   3  zero
 *   4  bits, 32 slots per word, up to MAX_SLOTS
 * ```
 * R is written by its requester only, P by its responder only; bits of one word change by atomic xor. The words of
 * one READ may be of different instants, and those of a pushed board are placed in any order: bits are independent,
 * and the end counts when words 1 and 2 are complements. Both are 0 before it, so a mixture of an old and a new word
 * passes only where the old one equals the new one.
 */
import { MAX_SLOTS } from '../constants.js';
import { wordsFor } from '../machine/bits.js';

export const BOARD_HEADER_WORDS = 4;
export const BoardWord = { GENERATION: 0, TOTAL: 1, COMPLEMENT: 2 } as const;

/** Says on a board that no slot follows after `total`. */
export function writeEnd(header: Int32Array, total: number): void {
  Atomics.store(header, BoardWord.TOTAL, total);
  Atomics.store(header, BoardWord.COMPLEMENT, ~total);
}

/** Whether a board says so; its word TOTAL does not change any more then. */
export function saysEnd(header: Int32Array): boolean {
  // Plain first, for it is asked in every look; a false yes is seen below, a false no in the next look.
  if (header[BoardWord.COMPLEMENT] !== ~header[BoardWord.TOTAL]!) return false;
  return Atomics.load(header, BoardWord.COMPLEMENT) === ~Atomics.load(header, BoardWord.TOTAL);
}

/** Bytes of a board with so many slots. */
export function boardBytes(slots: number): number {
  return (BOARD_HEADER_WORDS + wordsFor(slots)) * 4;
}

/** Distance between boards in memory: of the largest one, so that each has cache lines of its own. */
export const BOARD_STRIDE = 64 + MAX_SLOTS / 8;
