import type { LocalKey } from '@rdmc/verbs';
import type { FirstBuffers } from './first-buffers.js';

/** The first-block buffers that one group has: one at any time, and spare ones while several messages are under way. */
export class BufferShare {
  readonly #held = new Set<number>();
  /** The only buffer, if nothing uses it; or −1. */
  #idle: number;

  constructor(private readonly buffers: FirstBuffers) {
    this.#idle = buffers.join();
    this.#held.add(this.#idle);
  }

  /** Bytes of each buffer. */
  get bytes(): number {
    return this.buffers.bytes;
  }

  /** A buffer; −1: none is free now. */
  take(): number {
    const idle = this.#idle;
    this.#idle = -1;
    const buffer = idle === -1 ? this.buffers.take() : idle;
    if (buffer !== -1) this.#held.add(buffer);
    return buffer;
  }

  /** A buffer is not used any more. The group keeps it if it has no other one. */
  free(buffer: number): void {
    if (this.#held.size === 1) {
      this.#idle = buffer;
      return;
    }
    this.#held.delete(buffer);
    this.buffers.give(buffer);
  }

  /** No request of the group uses a buffer any more: gives all back. The share is not used again. */
  end(): void {
    const [last, ...others] = this.#held;
    for (const buffer of others) this.buffers.give(buffer);
    if (last !== undefined) this.buffers.leave(last);
    this.#held.clear();
  }

  address(buffer: number): number {
    return this.buffers.address(buffer);
  }

  lkey(buffer: number): LocalKey {
    return this.buffers.lkey(buffer);
  }
}
