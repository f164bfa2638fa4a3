/*
 * The header of every block, in its own scatter/gather entry (16 bytes, little endian):
 *
 *   byte  0                        8                 12                16
 *         +------------------------+-----------------+-----------------+
 *         | size of the message    | size of a block | message number  |
 *         |  u64 bytes             |  u32 bytes      |  u32, from 0    |
 *         +------------------------+-----------------+-----------------+
 *
 * RDMC (DSN 2018, section 4.2) puts the size into the immediate. The immediate has 32 bits, and a member needs the
 * exact size at its first block, which can be any block; so here the immediate is the block's number.
 */
import { HEADER_WORDS } from '../constants.js';

const TWO_32 = 4_294_967_296;

export function writeHeader(
  words: Uint32Array,
  slot: number,
  byteLength: number,
  blockBytes: number,
  message: number,
): void {
  const base = slot * HEADER_WORDS;
  words[base] = byteLength;
  words[base + 1] = byteLength / TWO_32;
  words[base + 2] = blockBytes;
  words[base + 3] = message;
}

/** The size of the message. An invalid header may give a number beyond the safe integers. */
export function headerSize(words: Uint32Array, slot: number): number {
  const base = slot * HEADER_WORDS;
  return words[base]! + words[base + 1]! * TWO_32;
}

export function headerBlockSize(words: Uint32Array, slot: number): number {
  return words[slot * HEADER_WORDS + 2]!;
}

export function headerMessage(words: Uint32Array, slot: number): number {
  return words[slot * HEADER_WORDS + 3]!;
}
