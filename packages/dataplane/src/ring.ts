/**
 * A byte ring in shared memory: one writing thread, one reading thread, records of any length.
 *
 * The data area is a SharedArrayBuffer of a power of two; head and tail are free-running 32-bit byte counts in
 * the control block (control.ts), so `head - tail` (modulo 2^32) is what the ring holds. A record starts at a
 * multiple of 8 and never wraps:
 * ```
 *  0 u32 length   header and payload, without padding     4 u32 protocol << 16 | kind
 *  8 u32 request  0: no answer expected                  12 u32 0
 * 16 payload, then padding to a multiple of 8
 * ```
 * If the rest of the area is too short for a record, a length of 0xffffffff there makes the reader continue at
 * offset 0. A record takes at most a quarter of the ring, so an empty ring always has room for one.
 * Only head and tail are accessed atomically; they publish the bytes.
 */
import { DataPlaneError } from './errors.js';
import { checkBytes, type RecordView } from './record-codec.js';

export const RECORD_HEADER_BYTES = 16;
const WRAP_MARKER = 0xffff_ffff;
const EMPTY = new Uint8Array(0);

/** The longest payload in a ring of this size. */
export function maxPayloadBytes(ringBytes: number): number {
  return ringBytes / 4 - RECORD_HEADER_BYTES;
}

/** The memory of a ring: its data, and the indices of its head and tail in the control words. */
export interface RingMemory {
  readonly data: SharedArrayBuffer;
  readonly words: Int32Array;
  readonly head: number;
  readonly tail: number;
}

/** The current content of the ring, in bytes; any thread may call it. */
export function ringDepth(words: Int32Array, head: number, tail: number): number {
  const read = Atomics.load(words, tail);
  return (Atomics.load(words, head) - read) >>> 0;
}

/** The writing end. Belongs to one thread. */
export class RingWriter {
  readonly #bytes: Uint8Array;
  readonly #u32: Uint32Array;
  readonly #size: number;
  #head: number;
  /** Longest payload in bytes. */
  readonly maxPayload: number;

  constructor(private readonly memory: RingMemory) {
    this.#bytes = new Uint8Array(memory.data);
    this.#u32 = new Uint32Array(memory.data);
    this.#size = memory.data.byteLength;
    this.#head = Atomics.load(memory.words, memory.head) >>> 0;
    this.maxPayload = maxPayloadBytes(this.#size);
  }

  /**
   * Writes one record, or returns false if there is no room for it now.
   * @throws DataPlaneError ERR_RDMC_RECORD_TOO_LARGE if it is too long for this ring
   */
  tryWrite(tag: number, request: number, payload: Uint8Array = EMPTY): boolean {
    this.check(payload);
    const length = RECORD_HEADER_BYTES + payload.byteLength;
    const padded = (length + 7) & ~7;
    let at = this.#head & (this.#size - 1);
    const rest = this.#size - at;
    const skipped = padded > rest ? rest : 0;
    const used = (this.#head - Atomics.load(this.memory.words, this.memory.tail)) >>> 0;
    if (used + skipped + padded > this.#size) return false;
    if (skipped > 0) {
      this.#u32[at >>> 2] = WRAP_MARKER;
      at = 0;
    }
    this.#u32[at >>> 2] = length;
    this.#u32[(at >>> 2) + 1] = tag;
    this.#u32[(at >>> 2) + 2] = request;
    this.#u32[(at >>> 2) + 3] = 0;
    if (payload.byteLength > 0) this.#bytes.set(payload, at + RECORD_HEADER_BYTES);
    this.#head = (this.#head + skipped + padded) >>> 0;
    Atomics.store(this.memory.words, this.memory.head, this.#head | 0);
    return true;
  }

  /** @throws DataPlaneError ERR_RDMC_RECORD_TOO_LARGE, ERR_RDMC_INVALID_OPTION for another kind of array */
  check(payload: Uint8Array): void {
    checkBytes(payload);
    if (payload.byteLength > this.maxPayload) {
      throw new DataPlaneError(
        'ERR_RDMC_RECORD_TOO_LARGE',
        `A record of ${payload.byteLength} bytes is too long for a ring of ${this.#size} bytes ` +
          `(at most ${this.maxPayload}); send less at once, or start the data plane with larger rings`,
      );
    }
  }
}

/**
 * The reading end. Belongs to one thread. A record that `next` took is valid until the following `next` or `release`.
 */
export class RingReader implements RecordView {
  readonly #bytes: Uint8Array;
  readonly #u32: Uint32Array;
  readonly #f64: Float64Array;
  readonly #size: number;
  /** The position behind the current record, and the position that was published to the writer. */
  #tail: number;
  #released: number;
  #payloadAt = 0;
  #payloadBytes = 0;
  tag = 0;
  request = 0;

  constructor(private readonly memory: RingMemory) {
    this.#bytes = new Uint8Array(memory.data);
    this.#u32 = new Uint32Array(memory.data);
    this.#f64 = new Float64Array(memory.data);
    this.#size = memory.data.byteLength;
    this.#tail = Atomics.load(memory.words, memory.tail) >>> 0;
    this.#released = this.#tail;
  }

  /** A copy that the reader may keep. */
  get payload(): Uint8Array {
    if (this.#payloadBytes === 0) return EMPTY;
    return this.#bytes.slice(this.#payloadAt, this.#payloadAt + this.#payloadBytes);
  }

  /** One of the numbers of the payload. */
  number(index: number): number {
    return this.#f64[(this.#payloadAt >>> 3) + index]!;
  }

  get empty(): boolean {
    return Atomics.load(this.memory.words, this.memory.head) >>> 0 === this.#tail;
  }

  /** Takes the next record; false if the ring is empty. */
  next(): boolean {
    this.release();
    if (this.empty) return false;
    let at = this.#tail & (this.#size - 1);
    let skipped = 0;
    if (this.#u32[at >>> 2] === WRAP_MARKER) {
      skipped = this.#size - at;
      at = 0;
    }
    const length = this.#u32[at >>> 2]!;
    this.tag = this.#u32[(at >>> 2) + 1]!;
    this.request = this.#u32[(at >>> 2) + 2]!;
    this.#payloadAt = at + RECORD_HEADER_BYTES;
    this.#payloadBytes = length - RECORD_HEADER_BYTES;
    this.#tail = (this.#tail + skipped + ((length + 7) & ~7)) >>> 0;
    return true;
  }

  /** Returns the memory of the last taken record to the writer. */
  release(): void {
    if (this.#released === this.#tail) return;
    this.#released = this.#tail;
    Atomics.store(this.memory.words, this.memory.tail, this.#tail | 0);
  }
}
