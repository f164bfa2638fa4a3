import { LONG_REPLY_BYTES, LONG_REPLY_DECAY } from '../limits.js';

/**
 * The replies that one client waits for, and that may be long. Their length is not known before they come: each is expected to be as
 * long as the longest of the last ones.
 */
export class LongReplies {
  #unanswered = 0;
  #expectedBytes = LONG_REPLY_BYTES;

  asked(): void {
    this.#unanswered += 1;
  }

  answered(bytes: number): void {
    this.#unanswered -= 1;
    this.#expectedBytes = Math.max(bytes, this.#expectedBytes * (1 - LONG_REPLY_DECAY));
  }

  /** The expected length of all that have not come. */
  get bytes(): number {
    return this.#unanswered * this.#expectedBytes;
  }
}
