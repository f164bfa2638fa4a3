import { Buffer } from 'node:buffer';
import { COPIED_REQUEST_BYTES, REQUEST_PIECE_BYTES } from '../limits.js';
import { REQUEST_HEADER_BYTES, REQUESTS_EPOCH_BYTES, writeRequestHeader } from './peer-frames.js';
import type { Request } from './request.js';

/**
 * The payload of a frame of requests, in pieces (`peer-frames.ts` draws it). Headers and short commands are copied into a piece of
 * memory that the next frame uses again; longer commands are pieces of their own.
 */
export class RequestFrame {
  #piece = Buffer.allocUnsafeSlow(REQUEST_PIECE_BYTES);
  /** The part of the piece that is not in `#full` yet. The first 4 bytes of a frame are for the epoch. */
  #from = 0;
  #end = REQUESTS_EPOCH_BYTES;
  #full: Buffer[] = [];
  #count = 0;
  #bytes = 0;

  /** Number of requests. */
  get count(): number {
    return this.#count;
  }

  /** Bytes of their commands. */
  get bytes(): number {
    return this.#bytes;
  }

  add(id: number, { version, bytes }: Pick<Request, 'version' | 'bytes'>): void {
    const isCopied = bytes.length <= COPIED_REQUEST_BYTES;
    this.#reserve(REQUEST_HEADER_BYTES + (isCopied ? bytes.length : 0));
    writeRequestHeader(this.#piece, this.#end, id, version, bytes.length);
    this.#end += REQUEST_HEADER_BYTES;
    if (isCopied) this.#end += bytes.copy(this.#piece, this.#end);
    else {
      this.#cut();
      this.#full.push(bytes);
    }
    this.#count += 1;
    this.#bytes += bytes.length;
  }

  /** The pieces, which are valid until the next `add`; the frame is empty then. */
  take(epoch: number): readonly Buffer[] {
    this.#cut();
    const pieces = this.#full;
    pieces[0]!.writeUInt32LE(epoch, 0);
    this.clear();
    return pieces;
  }

  clear(): void {
    this.#from = 0;
    this.#end = REQUESTS_EPOCH_BYTES;
    this.#full = [];
    this.#count = 0;
    this.#bytes = 0;
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#piece.length) return;
    this.#cut();
    this.#piece = Buffer.allocUnsafeSlow(REQUEST_PIECE_BYTES);
    this.#from = 0;
    this.#end = 0;
  }

  #cut(): void {
    if (this.#end > this.#from) this.#full.push(this.#piece.subarray(this.#from, this.#end));
    this.#from = this.#end;
  }
}
