import { MAX_PULL_PIECES, PULL_PIECE_BYTES } from '../constants.js';
import { invalidOption } from '../errors.js';

/** A file that is cut into pieces. */
export interface PiecedFile {
  /** Index of its entry in the manifest. */
  readonly entry: number;
  readonly size: number;
  /** Number of its first piece, and how many it has. An empty file does not have pieces. */
  readonly first: number;
  readonly pieces: number;
}

/** The pieces of all files, numbered in the order of the manifest. */
export class PieceMap {
  readonly files: PiecedFile[] = [];
  /** Number of the file of each piece. */
  #fileOf = new Uint32Array(1024);
  #count = 0;

  /** Number of pieces. */
  get count(): number {
    return this.#count;
  }

  /** @throws CastError ERR_RDMC_INVALID_OPTION where there are too many pieces */
  add(entry: number, size: number): PiecedFile {
    const pieces = Math.ceil(size / PULL_PIECE_BYTES);
    if (this.#count + pieces > MAX_PULL_PIECES) {
      const message = `a pull has at most ${MAX_PULL_PIECES} pieces; fetch parts of the directory by their names`;
      throw invalidOption(message);
    }
    const file = { entry, size, first: this.#count, pieces };
    this.#reserve(this.#count + pieces);
    this.#fileOf.fill(this.files.length, this.#count, this.#count + pieces);
    this.#count += pieces;
    this.files.push(file);
    return file;
  }

  /** Number of the file of a piece, in `files`. */
  fileNumber(piece: number): number {
    return this.#fileOf[piece]!;
  }

  /** The file of a piece. */
  fileOf(piece: number): PiecedFile {
    return this.files[this.#fileOf[piece]!]!;
  }

  /** Where a piece begins in its file. */
  offsetOf(piece: number): number {
    return (piece - this.fileOf(piece).first) * PULL_PIECE_BYTES;
  }

  /** Length of a piece. */
  bytesOf(piece: number): number {
    return Math.min(PULL_PIECE_BYTES, this.fileOf(piece).size - this.offsetOf(piece));
  }

  /** Length of each piece. */
  costs(): Float64Array {
    return Float64Array.from({ length: this.#count }, (_, piece) => this.bytesOf(piece));
  }

  #reserve(count: number): void {
    if (count <= this.#fileOf.length) return;
    const larger = new Uint32Array(Math.max(count, 2 * this.#fileOf.length));
    larger.set(this.#fileOf);
    this.#fileOf = larger;
  }
}
