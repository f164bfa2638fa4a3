import { Buffer } from 'node:buffer';
import { PART_MEMORY_BYTES } from '../limits.js';

/**
 * Memory for the parts of a dead log. With ArrayBuffers the garbage collector would mark all keys of this server for each 64 MB of
 * them, which takes longer than the takeover where the server has many keys. V8 does not count shared memory, and so it does not
 * hurry to free it either. So the memory of an attempt that failed is used again.
 */
export class PartMemory {
  readonly #chunks: (ArrayBuffer | SharedArrayBuffer)[] = [];
  /** The chunk that is being filled, and where it is free. */
  #chunk = 0;
  #at = 0;

  constructor(
    /** It is ArrayBuffers: the garbage collector hurries. */
    readonly isCounted = false,
  ) {}

  /** Memory of that length. Its content is undefined. */
  allocate(byteLength: number): Buffer {
    if (byteLength > PART_MEMORY_BYTES) return Buffer.from(this.#make(byteLength));
    if (this.#at + byteLength > PART_MEMORY_BYTES) {
      this.#chunk += 1;
      this.#at = 0;
    }
    // Its pages take no memory before something is written to them.
    this.#chunks[this.#chunk] ??= this.#make(PART_MEMORY_BYTES);
    const bytes = Buffer.from(this.#chunks[this.#chunk]!, this.#at, byteLength);
    this.#at += byteLength;
    return bytes;
  }

  /** Nobody uses what was allocated so far. */
  reset(): void {
    this.#chunk = 0;
    this.#at = 0;
  }

  #make(byteLength: number): ArrayBuffer | SharedArrayBuffer {
    return this.isCounted ? new ArrayBuffer(byteLength) : new SharedArrayBuffer(byteLength);
  }
}
