/** Fewer bytes are what rounding has left. */
const LEAST_BYTES = 1e-3;
/** A use that differs from the rate by less is the rate. */
const SAME_RATE = 1e-9;

/**
 * The tokens of one link, in bytes: each lets one byte leave at once. They grow at the link's rate, less what its flows use, up to
 * the size of the bucket, which is full at the start.
 */
export class TokenBucket {
  #level: number;
  #since = 0;
  /** Bytes per microsecond; negative where the flows use more than the rate. */
  #growth = 0;

  constructor(
    /** Of the link, in bytes per microsecond. */
    private readonly rate: number,
    /** The most tokens. */
    private readonly bytes: number,
  ) {
    this.#level = bytes;
  }

  /** Tokens at `now`. */
  tokens(now: number): number {
    const level = this.#levelAt(now);
    return level < LEAST_BYTES ? 0 : level;
  }

  /** Takes tokens, at most those that there are. The level does not grow until the next `setUse`. */
  take(bytes: number, now: number): void {
    this.#level = Math.max(0, this.#levelAt(now) - bytes);
    this.#since = now;
    this.#growth = Math.min(this.#growth, 0);
  }

  /** What the flows use from `now` on, in bytes per microsecond. Returns when the last token is taken, if one will be. */
  setUse(use: number, now: number): number {
    this.#level = this.#levelAt(now);
    this.#since = now;
    const growth = this.rate - use;
    this.#growth = Math.abs(growth) <= SAME_RATE * this.rate ? 0 : growth;
    return this.#growth < 0 && this.#level > 0 ? now - this.#level / this.#growth : Number.POSITIVE_INFINITY;
  }

  #levelAt(now: number): number {
    const level = this.#level + this.#growth * (now - this.#since);
    return Math.min(this.bytes, Math.max(0, level));
  }
}
