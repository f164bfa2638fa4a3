/**
 * A board: one side's bitmap, with the values that the other side needs together with it. Peers READ it (both modes), or
 * get it pushed (R in push mode). 32-bit words, little endian:
 * ```
 *   0  generation of the connection
 *   1  total: the sequence number after the last message, modulo 2^32, once the requester has ended (R only)
 *   2  ~total from then on, 0 before (R only)
 *   3  zero
 *   4  bits, 32 slots per word, up to MAX_SLOTS
 * ```
 * Only the requester writes R, only the responder writes P; bits of one word change by atomic xor. The words of
 * one READ may be of different times, and those of a pushed board are placed in any order: bits are independent,
 * and the end is valid when words 1 and 2 are complements. Both are 0 before it, so a mixture of an old and a new word
 * is valid only if the old word equals the new one.
 */
import { MAX_SLOTS } from '../constants.js';
import { wordsFor } from '../machine/bits.js';

export const BOARD_HEADER_WORDS = 4;
export const BoardWord = { GENERATION: 0, TOTAL: 1, COMPLEMENT: 2 } as const;

/** Writes to a board that no slot follows after `total`. */
export function writeEnd(header: Int32Array, total: number): void {
  Atomics.store(header, BoardWord.TOTAL, total);
  Atomics.store(header, BoardWord.COMPLEMENT, ~total);
}

/** Whether a board has a valid end; its word TOTAL does not change after that. */
export function saysEnd(header: Int32Array): boolean {
  // A plain read first, because every look asks; a false yes is detected below, a false no in the next look.
  if (header[BoardWord.COMPLEMENT] !== ~header[BoardWord.TOTAL]!) return false;
  return Atomics.load(header, BoardWord.COMPLEMENT) === ~Atomics.load(header, BoardWord.TOTAL);
}

/** Bytes of a board with that many slots. */
export function boardBytes(slots: number): number {
  return (BOARD_HEADER_WORDS + wordsFor(slots)) * 4;
}

/** Distance between boards in memory: the size of the largest board, so that boards do not share cache lines. */
export const BOARD_STRIDE = 64 + MAX_SLOTS / 8;
