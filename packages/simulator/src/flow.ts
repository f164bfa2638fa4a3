import { Timer } from './clock.js';
import type { Link } from './link.js';

/** Bytes on their way over some links, at a rate that the network sets. The timer fires when the last byte has left. */
export abstract class Flow extends Timer {
  /** Bytes per microsecond; 0 until the network has computed it. */
  rate = 0;
  /** Of the search for connected flows: the number of the last search that reached it. */
  visit = 0;
  /** Whether the current filling has set its rate. */
  filled = 0;
  /** Its place in the list of each link. */
  readonly places: number[] = [];
  #left: number;
  #since = 0;

  constructor(
    readonly path: readonly Link[],
    readonly bytes: number,
  ) {
    super();
    this.#left = bytes;
  }

  /** Bytes that have not left at `now`. */
  left(now: number): number {
    return Math.max(0, this.#left - this.rate * (now - this.#since));
  }

  /** Changes the rate from `now` on. Returns the time of the last byte. */
  setRate(rate: number, now: number): number {
    this.#left = this.left(now);
    this.#since = now;
    this.rate = rate;
    return now + this.#left / rate;
  }
}
