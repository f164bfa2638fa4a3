import type { PiecePacker } from '../compression/piece-packer.js';
import { CHUNK_BYTES, HOLE_BYTES, PACKED_MESSAGE_BYTES, PIECES_PER_MESSAGE } from '../constants.js';
import { DATA_OVERHEAD_BYTES, type MessageEncoder } from '../stream/message-encoder.js';
import type { Filled, FillRequest } from './file-filler.js';

const ZEROS = Buffer.alloc(HOLE_BYTES);

let scratch: Buffer | undefined;

/** A piece of a file in memory: data, or zeros that become a hole. */
interface Run {
  readonly from: number;
  readonly to: number;
  readonly isHole: boolean;
}

/**
 * As `fillData` and `fillSparse`, with compressed pieces. A piece is small enough for an empty message, also where it does not
 * shrink. What follows is determined by the packer's state and the bytes, so that a message can be filled again.
 */
export function fillPacked(request: FillRequest, packer: PiecePacker): Filled {
  const { encoder, target, source, hash, index, end } = request;
  const pieceBytes = mostPieceBytes(target);
  scratch ??= Buffer.allocUnsafeSlow(CHUNK_BYTES);
  let [offset, contentBytes] = [request.offset, 0];
  const filled = (short: boolean): Filled => ({ offset, contentBytes, keptBytes: 0, short });
  while (offset < end && contentBytes < PACKED_MESSAGE_BYTES) {
    const piece = scratch.subarray(0, Math.min(pieceBytes, end - offset));
    // Else it would be read and compressed for nothing.
    if (encoder.spaceLeft < DATA_OVERHEAD_BYTES + Math.min(HOLE_BYTES, piece.length)) return filled(false);
    if (!source.read(piece, offset)) return filled(true);
    const from = offset;
    for (const run of source.sparse ? runsOf(piece) : [{ from: 0, to: piece.length, isHole: false }]) {
      const bytes = piece.subarray(run.from, run.to);
      if (run.isHole) hash.hole(index, from + run.from, bytes.length);
      else hash.update(index, from + run.from, bytes);
      if (!put(request, packer, offset, bytes, run.isHole)) return filled(false);
      offset += bytes.length;
      if (!run.isHole) contentBytes += bytes.length;
    }
  }
  return filled(false);
}

/** Writes one record. Returns false, and changes nothing, where the message has no room for it. */
function put(
  { encoder, target, index }: FillRequest,
  packer: PiecePacker,
  offset: number,
  bytes: Buffer,
  isHole: boolean,
): boolean {
  if (isHole) return encoder.hole({ index, offset, length: bytes.length });
  return putPiece({ encoder, target, packer }, index, offset, bytes);
}

/** A message, and how pieces of files become records of it. */
export interface PackedMessage {
  readonly encoder: MessageEncoder;
  /** The message's memory. */
  readonly target: Buffer;
  readonly packer: PiecePacker;
}

/** Writes a piece of a file, compressed if that is worth it. Returns false, and changes nothing, where there is no room for it. */
export function putPiece(
  { encoder, target, packer }: PackedMessage,
  index: number,
  offset: number,
  bytes: Buffer,
): boolean {
  const before = packer.state;
  const packed = packer.untried(index, offset) > 0 ? undefined : packer.pack(index, offset, bytes);
  const data = packed ?? bytes;
  if (encoder.spaceLeft < DATA_OVERHEAD_BYTES + data.length) {
    packer.state = before;
    return false;
  }
  data.copy(target, encoder.dataPlace());
  if (packed) encoder.packed(packer.codec, index, offset, { length: bytes.length, packedBytes: data.length });
  else encoder.data(index, offset, data.length);
  packer.savedBytes += bytes.length - data.length;
  return true;
}

/** Largest piece that fits into an empty message, also where it does not shrink. */
export function mostPieceBytes(target: Buffer): number {
  return Math.min(CHUNK_BYTES, Math.floor(target.length / PIECES_PER_MESSAGE));
}

/** Pieces of zeros, and what is between them. */
function runsOf(piece: Buffer): Run[] {
  const runs: Run[] = [];
  for (let from = 0; from < piece.length; from += HOLE_BYTES) {
    const to = Math.min(from + HOLE_BYTES, piece.length);
    const isHole = piece.compare(ZEROS, 0, to - from, from, to) === 0;
    const last = runs.at(-1);
    if (last?.isHole === isHole) runs[runs.length - 1] = { ...last, to };
    else runs.push({ from, to, isHole });
  }
  return runs;
}
