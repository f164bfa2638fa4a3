/**
 * A board: one side's bitmap, with what the other side must learn together with it. Peers READ it (both modes), or
 * have it pushed (R in push mode). 32-bit words, little endian:
 * ```
 *   0  generation of the connection
 *   1  ended: 1 once the requester has posted its last message (R only)
 *   2  total: the sequence number after the last message, modulo 2^32, when `ended` is 1 (R only)
 *   3  zero
 *   4  bits, 32 slots per word, up to MAX_SLOTS
 * ```
 * R is written by its requester only, P by its responder only; bits of one word change by atomic xor. The words of
 * one READ may be of different instants: bits are independent, and `ended` is stored after the last bit.
 */
import { MAX_SLOTS } from '../constants.js';
import { wordsFor } from '../machine/bits.js';

export const BOARD_HEADER_WORDS = 4;
export const BoardWord = { GENERATION: 0, ENDED: 1, TOTAL: 2 } as const;

/** Bytes of a board with so many slots. */
export function boardBytes(slots: number): number {
  return (BOARD_HEADER_WORDS + wordsFor(slots)) * 4;
}

/** Distance between boards in memory: of the largest one, so that each has cache lines of its own. */
export const BOARD_STRIDE = 64 + MAX_SLOTS / 8;
