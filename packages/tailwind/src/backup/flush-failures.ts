import { codeOf, messageOf } from '../errors.js';

/** Segments that a backup could not write to files. Each is tried again until it is written. */
export interface FlushFailure {
  /** Code of the last failed write, as `ENOSPC`: that of the file system, where it has one. */
  readonly code: string;
  /** The same for people; it may change. */
  readonly reason: string;
  /** Segments that are closed and in memory only, because their last write failed. */
  readonly segments: number;
  /** Writes that failed since the first of them. */
  readonly attempts: number;
  /** Time since the first of them, in milliseconds. */
  readonly milliseconds: number;
}

/** Counts writes of segments that failed. A failure lasts until each of these segments is written or freed. */
export class FlushFailures {
  readonly #failed = new Set<object>();
  #total = 0;
  #since = 0;
  #attempts = 0;
  #last: unknown;

  /** Writes that ever failed. */
  get total(): number {
    return this.#total;
  }

  /** Undefined: no segment has to be written again. */
  get current(): FlushFailure | undefined {
    const segments = this.#failed.size;
    if (segments === 0) return undefined;
    return {
      code: codeOf(this.#last) ?? 'UNKNOWN',
      reason: messageOf(this.#last),
      segments,
      attempts: this.#attempts,
      milliseconds: performance.now() - this.#since,
    };
  }

  failed(replica: object, error: unknown): void {
    if (this.#failed.size === 0) {
      this.#since = performance.now();
      this.#attempts = 0;
    }
    this.#failed.add(replica);
    this.#total += 1;
    this.#attempts += 1;
    this.#last = error;
  }

  /** The replica is in its file, or is not needed any more. */
  settled(replica: object): void {
    this.#failed.delete(replica);
  }
}
