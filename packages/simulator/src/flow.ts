/* Links and flows, in one file because each refers to the other. */
import { Timer } from './clock.js';
import { TokenBucket } from './token-bucket.js';

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
    /** Blocks that count as crossed at its end: 0 for the first part of a block. */
    readonly blocks = 1,
  ) {
    super();
    this.#left = bytes;
  }

  /** Bytes that have not left at `now`. */
  left(now: number): number {
    return Math.max(0, this.#left - this.rate * (now - this.#since));
  }

  /** These bytes leave when the flow starts. */
  leaveAtOnce(bytes: number): void {
    this.#left -= bytes;
  }

  /** Changes the rate from `now` on. Returns the time of the last byte. */
  setRate(rate: number, now: number): number {
    this.#left = this.left(now);
    this.#since = now;
    this.rate = rate;
    return now + this.#left / rate;
  }
}

/** One direction of a cable or of a switch's uplink, and the flows that share it. */
export class Link {
  readonly flows: Flow[] = [];
  /** Bytes that have crossed it, of flows that have ended. */
  bytes = 0;
  /** Blocks that have crossed it. */
  ended = 0;
  /** Of the search for connected flows: the number of the last search that reached it. */
  visit = 0;
  /** Of the filling: the capacity that is not assigned, the flows without a rate, and the place in the heap's order. */
  left = 0;
  open = 0;
  key = 0;
  /** Whether its flows changed since their rates were computed. */
  changed = false;
  /** What its flows may use together, in bytes per microsecond: more than the capacity while there are tokens. */
  limit: number;
  readonly bucket: TokenBucket | undefined;

  constructor(
    readonly name: string,
    /** Bytes per microsecond. */
    readonly capacity: number,
    /** Of its token bucket; 0 for none. */
    bucketBytes = 0,
  ) {
    this.limit = capacity;
    this.bucket = bucketBytes > 0 ? new TokenBucket(capacity, bucketBytes) : undefined;
  }
}
