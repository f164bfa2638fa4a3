/*
 * Memory for the bytes of messages: registered buffers, each a region, of which a message takes a whole one.
 *
 *   size of a buffer   the message's size, rounded up to a power of two; at least 4 KiB, at most the limit
 *   limit              of all buffers together: in use, free, and being allocated
 *
 * A request gets, in this order: a free buffer of its size, a new one if the limit has room for it, a larger free one, a
 * new one in place of free ones. Otherwise it waits, first come first served, until a message was sent. A request for at
 * most the limit therefore waits only as long as messages before it are under way.
 */
import { Fifo } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/verbs';
import { KIB } from './constants.js';

const LEAST_BUFFER_BYTES = 4 * KIB;

/** Memory of one message. Dispose of it once, when the device does not use it any more. */
export interface PooledMemory extends Disposable {
  readonly region: MemoryRegion;
  /** All bytes of the region. */
  readonly view: Uint8Array;
}

/** A message that waits for memory. Both functions are called at most once, and not before `take` has returned. */
interface Wish {
  readonly bufferBytes: number;
  readonly ready: (memory: PooledMemory) => void;
  readonly failed: (error: unknown) => void;
}

interface PoolBuffer {
  readonly region: MemoryRegion;
  readonly view: Uint8Array;
}

/** The memory of a group's messages that were given as bytes. Belongs to the application's thread. */
export class SendPool {
  readonly #waiting = new Fifo<Wish>();
  /** The longest unused first. */
  readonly #free: PoolBuffer[] = [];
  readonly #allocating = new Set<Promise<void>>();
  /** Bytes of all buffers. */
  #heldBytes = 0;
  #isClosed = false;

  constructor(
    private readonly limitBytes: number,
    private readonly allocate: (byteLength: number) => Promise<MemoryRegion>,
  ) {}

  /** Bytes of all buffers that exist or are being allocated. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Whether a message of that size can ever get memory. */
  fits(byteLength: number): boolean {
    return byteLength <= this.limitBytes;
  }

  /** Memory at once, without waiting; undefined if there is none, or if others wait. */
  tryTake(byteLength: number): PooledMemory | undefined {
    if (this.#waiting.length > 0) return undefined;
    const buffer = this.#takeFree((bytes) => bytes === this.#bufferBytes(byteLength));
    return buffer && this.#lend(buffer);
  }

  /**
   * Requests memory, in the order of the calls: `ready` or `failed` is called later. Returns a function that withdraws a
   * request which was not answered.
   */
  take(
    byteLength: number,
    ready: (memory: PooledMemory) => void,
    failed: (error: unknown) => void,
  ): () => void {
    const wish: Wish = { bufferBytes: this.#bufferBytes(byteLength), ready, failed };
    this.#waiting.push(wish);
    queueMicrotask(() => this.#serve());
    return () => {
      if (this.#waiting.remove((each) => each === wish)) this.#serve();
    };
  }

  /** Forgets the requests that wait: they are not answered. */
  dropRequests(): void {
    this.#waiting.clear();
  }

  /** Frees all memory, and that of later disposals. Call it when no message is under way any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.dropRequests();
    await Promise.allSettled([
      ...this.#free.splice(0).map(({ region }) => region.close()),
      ...this.#allocating,
    ]);
  }

  #bufferBytes(byteLength: number): number {
    const power = 2 ** Math.ceil(Math.log2(Math.max(byteLength, LEAST_BUFFER_BYTES)));
    return Math.min(power, this.limitBytes);
  }

  #serve(): void {
    while (!this.#isClosed && this.#waiting.length > 0) {
      if (!this.#answer(this.#waiting.peek()!)) return;
    }
  }

  /** Answers the oldest request, which leaves the queue; false: it has to wait. */
  #answer(wish: Wish): boolean {
    const { bufferBytes } = wish;
    let buffer = this.#takeFree((bytes) => bytes === bufferBytes);
    if (!buffer && this.#heldBytes + bufferBytes > this.limitBytes) {
      buffer = this.#takeFree((bytes) => bytes > bufferBytes);
      if (!buffer && !this.#evict(bufferBytes)) return false;
    }
    this.#waiting.shift();
    if (buffer) wish.ready(this.#lend(buffer));
    else this.#grow(wish);
    return true;
  }

  #takeFree(fits: (bytes: number) => boolean): PoolBuffer | undefined {
    const at = this.#free.findLastIndex(({ region }) => fits(region.byteLength));
    return at === -1 ? undefined : this.#free.splice(at, 1)[0];
  }

  /** Closes free buffers until there is room for that many bytes; none if all of them are not enough. */
  #evict(bufferBytes: number): boolean {
    const freeBytes = this.#free.reduce((sum, { region }) => sum + region.byteLength, 0);
    if (this.#heldBytes - freeBytes + bufferBytes > this.limitBytes) return false;
    while (this.#heldBytes + bufferBytes > this.limitBytes) {
      const { region } = this.#free.shift()!;
      this.#heldBytes -= region.byteLength;
      void region.close();
    }
    return true;
  }

  #grow({ bufferBytes, ready, failed }: Wish): void {
    this.#heldBytes += bufferBytes;
    const done = this.allocate(bufferBytes).then(
      async (region) => {
        this.#allocating.delete(done);
        if (this.#isClosed) await region.close();
        else ready(this.#lend({ region, view: region.view() }));
      },
      (error: unknown) => {
        this.#allocating.delete(done);
        this.#heldBytes -= bufferBytes;
        if (this.#isClosed) return;
        failed(error);
        this.#serve();
      },
    );
    this.#allocating.add(done);
  }

  #lend(buffer: PoolBuffer): PooledMemory {
    let isLent = true;
    const giveBack = (): void => {
      if (!isLent) return;
      isLent = false;
      if (this.#isClosed) void buffer.region.close();
      else {
        this.#free.push(buffer);
        this.#serve();
      }
    };
    return { ...buffer, [Symbol.dispose]: giveBack };
  }
}
