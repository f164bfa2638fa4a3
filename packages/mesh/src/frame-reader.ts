import { protocolError } from './errors.js';
import { type Frame, LENGTH_BYTES } from './frames.js';

/**
 * Splits a byte stream into frames. It holds one frame of the limit and one chunk at most,
 * and it refuses a length before a byte of that frame is kept.
 */
export class FrameReader {
  #limitBytes: number;
  #chunks: Buffer[] = [];
  #bufferedBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Bytes that have arrived and belong to frames that `next` has not returned. */
  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  /** Raised once a connection has introduced itself. */
  set limitBytes(bytes: number) {
    this.#limitBytes = bytes;
  }

  /** Adds bytes that have arrived. The chunk is kept, not copied: do not change it. */
  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.length;
  }

  /** The next whole frame, if it has arrived. Throws ERR_RDMC_MESH_PROTOCOL for an impossible length. */
  next(): Frame | undefined {
    if (this.#bufferedBytes < LENGTH_BYTES) return undefined;
    const length = this.#gather(LENGTH_BYTES).readUInt32LE(0);
    if (length < 1 || length > this.#limitBytes) {
      throw protocolError(`a frame announces ${length} bytes; 1 to ${this.#limitBytes} are allowed`);
    }
    const total = LENGTH_BYTES + length;
    if (this.#bufferedBytes < total) return undefined;
    const head = this.#gather(total);
    this.#drop(head, total);
    return { type: head[LENGTH_BYTES]!, payload: head.subarray(LENGTH_BYTES + 1, total) };
  }

  /** The first `bytes` bytes that have arrived, or fewer. */
  peek(bytes: number): Buffer {
    if (this.#bufferedBytes === 0) return Buffer.alloc(0);
    return this.#gather(Math.min(bytes, this.#bufferedBytes)).subarray(0, bytes);
  }

  /** Makes the first chunk hold `bytes` bytes at least; copies only where they are in several chunks. */
  #gather(bytes: number): Buffer {
    let first = this.#chunks[0]!;
    if (first.length >= bytes) return first;
    let have = 0;
    let count = 0;
    while (have < bytes) have += this.#chunks[count++]!.length;
    first = Buffer.concat(this.#chunks.slice(0, count), have);
    this.#chunks.splice(0, count, first);
    return first;
  }

  #drop(head: Buffer, bytes: number): void {
    this.#bufferedBytes -= bytes;
    if (head.length === bytes) this.#chunks.shift();
    else this.#chunks[0] = head.subarray(bytes);
  }
}
