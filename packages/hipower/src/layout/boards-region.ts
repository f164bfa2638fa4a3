/**
 * The boards of a channel, in one region per side. For each peer, BOARD_STRIDE bytes apart:
 * ```
 *   requester   own board R | landing of P | MAX_PUSHES staged snapshots of R
 *   responder   own board P | landing of R
 * ```
 */
import { MAX_PUSHES } from '../constants.js';
import type { Role } from '../records.js';
import { BOARD_HEADER_WORDS, BOARD_STRIDE } from './board.js';

const BOARDS: Readonly<Record<Role, number>> = { requester: 2 + MAX_PUSHES, responder: 2 };
export const BoardIndex = { OWN: 0, LANDING: 1, STAGED: 2 } as const;

export function boardsRegionBytes(role: Role, peers: number): number {
  return peers * BOARDS[role] * BOARD_STRIDE;
}

/** Where a peer's boards begin in the region. */
export function boardsOffset(role: Role, peer: number): number {
  return peer * BOARDS[role] * BOARD_STRIDE;
}

/** One board in a view of the region: header and bits. */
export interface BoardView {
  readonly header: Int32Array;
  readonly bits: Int32Array;
  /** Both, as bytes; their length is what is read or pushed. */
  readonly bytes: Uint8Array;
}

export function boardView(region: Uint8Array, offset: number, byteLength: number): BoardView {
  const at = region.byteOffset + offset;
  const words = byteLength / 4;
  return {
    header: new Int32Array(region.buffer, at, BOARD_HEADER_WORDS),
    bits: new Int32Array(region.buffer, at + BOARD_HEADER_WORDS * 4, words - BOARD_HEADER_WORDS),
    bytes: new Uint8Array(region.buffer, at, byteLength),
  };
}
