/*
 * The header of every block, in its own scatter/gather entry (20 bytes, little endian):
 *
 *   byte  0                        8                 12                16                20
 *         +------------------------+-----------------+-----------------+-----------------+
 *         | size of the message    | size of a block | message number  | block number    |
 *         |  u64 bytes             |  u32 bytes      |  u32, from 0    |  u32, from 0    |
 *         +------------------------+-----------------+-----------------+-----------------+
 *
 * RDMC (DSN 2018, section 4.2) puts the size into the immediate. The immediate has 32 bits, and a member needs the
 * exact size at its first block, which can be any block; so here the immediate is the block's number. The header has that
 * number, too: a device that relays a block before the member has looked at it sends the immediate of the expected block,
 * and the header of the block that came.
 *
 * A header can go ahead of its message, alone: where the blocks do not fit into first-block buffers, so that the receiver
 * first needs memory. Its block number, and the immediate, are then HEADER_AHEAD.
 */
import { HEADER_WORDS } from '../constants.js';

const TWO_32 = 4_294_967_296;

/** In place of a block number: larger than any. */
export const HEADER_AHEAD = 0xffff_ffff;

/** The message in a header. */
export interface HeaderMessage {
  readonly byteLength: number;
  readonly blockBytes: number;
  readonly number: number;
}

/** Whether the header of such a message goes ahead of its blocks, which are longer than a first-block buffer. */
export function goesAhead(byteLength: number, blockBytes: number, bufferBytes: number): boolean {
  return Math.min(byteLength, blockBytes) > bufferBytes;
}

export function writeHeader(words: Uint32Array, slot: number, message: HeaderMessage, block: number): void {
  const base = slot * HEADER_WORDS;
  words[base] = message.byteLength;
  words[base + 1] = message.byteLength / TWO_32;
  words[base + 2] = message.blockBytes;
  words[base + 3] = message.number;
  words[base + 4] = block;
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

export function headerBlock(words: Uint32Array, slot: number): number {
  return words[slot * HEADER_WORDS + 4]!;
}
