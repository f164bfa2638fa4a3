/**
 * A message of a pull, before it is encrypted (`seal/layout.ts`): pieces behind each other, without gaps. Both ends know
 * the length of each piece from the manifest. Integers are little endian.
 *
 *   byte  0        4            4 + length
 *         +--------+------------+--------+------------+- …
 *         | number | bytes      | number | bytes      |
 *         | u32    | of a piece | u32    | of a piece |
 *         +--------+------------+--------+------------+- …
 */
import { protocolError } from '../errors.js';

export const NUMBER_BYTES = 4;

/** A piece in a message; `bytes` is a view. */
export interface PieceInMessage {
  readonly piece: number;
  readonly bytes: Buffer;
}

/** @throws CastError ERR_RDMC_CAST_PROTOCOL at the piece concerned */
export function* piecesIn(
  message: Buffer,
  map: { readonly count: number; bytesOf(piece: number): number },
): Generator<PieceInMessage, void, undefined> {
  let at = 0;
  while (at < message.length) {
    if (message.length - at < NUMBER_BYTES) throw protocolError('a message of a pull ends within a number');
    const piece = message.readUInt32LE(at);
    if (piece >= map.count) throw protocolError(`a message has piece ${piece} of ${map.count}`);
    const end = at + NUMBER_BYTES + map.bytesOf(piece);
    if (end > message.length) throw protocolError('a message of a pull ends within a piece');
    yield { piece, bytes: message.subarray(at + NUMBER_BYTES, end) };
    at = end;
  }
}
