import type { Link } from './flow.js';
import { Turns } from './turns.js';

/**
 * The queue of a switch in front of one node's port. Its room is shared by all senders. Bytes have room from the start of their
 * transfer until the last one has passed the port.
 */
export class PortQueue {
  /** Blocks that are in the queue, in the order in which they came: the port sends one after the other. */
  readonly turns = new Turns();
  #room: number;

  constructor(
    /** The port behind the queue. */
    readonly port: Link,
    /** The longest queue, in bytes. */
    capacity: number,
  ) {
    this.#room = capacity;
  }

  /** Reserves room, at most `bytes`. Returns what there was. */
  take(bytes: number): number {
    const taken = Math.min(bytes, this.#room);
    this.#room -= taken;
    return taken;
  }

  /** Gives room back. */
  give(bytes: number): void {
    this.#room += bytes;
  }
}
