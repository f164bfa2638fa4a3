import type { LocalKey } from '@rdmc/verbs';

/** Buffers for first blocks of one size, which groups share. A buffer is a number. */
export interface FirstBuffers {
  /** Bytes of each buffer. */
  readonly bytes: number;
  /** The buffer that a group has as long as it is open. */
  join(): number;
  /** A further buffer; −1: all are in use. */
  take(): number;
  /** Gives back a further buffer, which may be another than the one that `take` returned. */
  give(buffer: number): void;
  /** The group has ended: it gives back its last buffer. */
  leave(buffer: number): void;
  /** Address of its first byte, in registered memory. */
  address(buffer: number): number;
  /** Key of its memory region. */
  lkey(buffer: number): LocalKey;
}

/**
 * The first-block buffers of a node: one for each group that receives blocks, and spare ones. An idle group has one, under
 * its receive for the first block of the next message. A group whose messages follow one another closely takes spare ones.
 *
 * A group never waits for a buffer that another one has: where no spare one is left, its next message waits until its own
 * buffer is free, which depends only on its earlier messages.
 */
export class FirstBufferPool implements FirstBuffers {
  readonly #addresses: number[] = [];
  readonly #lkeys: LocalKey[] = [];
  readonly #free: number[] = [];
  /** Buffers that groups have beyond their first ones. */
  #spareInUse = 0;

  constructor(
    readonly bytes: number,
    /** Buffers that are there beyond one for each group. */
    private readonly spare: number,
  ) {}

  /** Adds adjacent buffers. There must be `spare` more than groups before a group joins. */
  add(address: number, lkey: LocalKey, count: number): void {
    for (let index = 0; index < count; index += 1) {
      this.#free.push(this.#addresses.length);
      this.#addresses.push(address + index * this.bytes);
      this.#lkeys.push(lkey);
    }
  }

  /** As in `FirstBuffers`. */
  join(): number {
    const buffer = this.#free.pop();
    if (buffer === undefined)
      throw new Error(`There is no first-block buffer of ${this.bytes} bytes for a group`);
    return buffer;
  }

  /** As in `FirstBuffers`. */
  take(): number {
    if (this.#spareInUse === this.spare) return -1;
    this.#spareInUse += 1;
    return this.#free.pop()!;
  }

  /** As in `FirstBuffers`. */
  give(buffer: number): void {
    this.#spareInUse -= 1;
    this.#free.push(buffer);
  }

  /** As in `FirstBuffers`. */
  leave(buffer: number): void {
    this.#free.push(buffer);
  }

  /** Address of its first byte, in registered memory. */
  address(buffer: number): number {
    return this.#addresses[buffer]!;
  }

  /** Key of its memory region. */
  lkey(buffer: number): LocalKey {
    return this.#lkeys[buffer]!;
  }
}
