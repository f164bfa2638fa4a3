import { CHUNK_BYTES, LEAST_PACKED_BYTES, MAX_PROBE_STEP_BYTES, PROBE_BYTES } from '../constants.js';
import { type Codec, compress } from './codec.js';

/** Where the packer is in a file: what it does next follows from this and the bytes of the file alone. */
export interface PackerState {
  readonly entry: number;
  /** Bytes up to this offset are not tried. */
  readonly untriedUntil: number;
  /** How many bytes are not tried after the next failure; 0 where the last try was worth it. */
  readonly step: number;
}

const BEGIN: PackerState = { entry: -1, untriedUntil: 0, step: 0 };

/**
 * Compresses pieces of files. A piece is worth it where it shrinks by a twentieth at least. The first bytes of a piece are tried
 * before the rest; after a failure the next bytes of the file are not tried, twice as many after each, up to 64 MiB. So a file
 * that is compressed already costs little.
 */
export class PiecePacker {
  state = BEGIN;
  /** Of all pieces that are in messages. */
  savedBytes = 0;

  constructor(readonly codec: Codec) {}

  /** Bytes from `offset` on that are not tried; 0 where the next piece is. */
  untried(entry: number, offset: number): number {
    return entry === this.state.entry ? Math.max(0, this.state.untriedUntil - offset) : 0;
  }

  /** Undefined where it is not worth it. */
  pack(entry: number, offset: number, piece: Buffer): Buffer | undefined {
    if (entry !== this.state.entry) this.state = { ...BEGIN, entry };
    const isTried = this.state.step === 0 && this.state.untriedUntil > 0;
    const packed = piece.length < LEAST_PACKED_BYTES ? undefined : this.#tried(piece, isTried);
    const end = offset + piece.length;
    if (packed) this.state = { entry, untriedUntil: end, step: 0 };
    else if (piece.length >= LEAST_PACKED_BYTES) {
      const step = Math.min(MAX_PROBE_STEP_BYTES, Math.max(CHUNK_BYTES, 2 * this.state.step));
      this.state = { entry, untriedUntil: end + step, step };
    }
    return packed;
  }

  #tried(piece: Buffer, isTried: boolean): Buffer | undefined {
    if (!isTried && piece.length > 2 * PROBE_BYTES) {
      const probe = piece.subarray(0, PROBE_BYTES);
      if (!isWorth(compress(this.codec, probe), probe)) return undefined;
    }
    const packed = compress(this.codec, piece);
    return isWorth(packed, piece) ? packed : undefined;
  }
}

function isWorth(packed: Buffer, piece: Buffer): boolean {
  return packed.length <= piece.length - piece.length / 20;
}
