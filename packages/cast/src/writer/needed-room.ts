import { REPLACED_AHEAD_BYTES } from '../constants.js';

/**
 * The room that the files which a receiver lacks take on its disk, as far as it is known after the comparison.
 *
 * A file that replaces another one is written beside it. The older one frees its room when the new one has its name, so
 * later files may take that room. It is not known in which order the files come: the largest one may be the first, and
 * the names of some wait for their sync. So much is not counted as free.
 */
export class NeededRoom {
  #sizes = 0;
  #presentBytes = 0;
  #replacedBytes = 0;
  #largestReplaced = 0;

  /** A file that it lacks. */
  add(size: number): void {
    this.#sizes += size;
  }

  /** So much of a file that it lacks is on disk already, and stays in its place. */
  addPresent(diskBytes: number): void {
    this.#presentBytes += diskBytes;
  }

  /**
   * One of these files replaces an older one.
   * @param newBytes what it takes beside the older one
   * @param freedBytes what the older one frees
   */
  addReplaced(newBytes: number, freedBytes: number): void {
    // What the older one frees beside that may come too late for others.
    const bytes = Math.min(newBytes, freedBytes);
    this.#replacedBytes += bytes;
    this.#largestReplaced = Math.max(this.#largestReplaced, bytes);
  }

  /** Bytes that these files may take beside those that are free: what is present, and what is freed in time. */
  get ownBytes(): number {
    return this.#presentBytes + this.#freedInTime;
  }

  /** Bytes that must be free for them. */
  get missingBytes(): number {
    return Math.max(0, this.#sizes - this.ownBytes);
  }

  /** Bytes that must be free for them where the older files stay until the end of the cast. */
  get bytesBesideOlder(): number {
    return Math.max(0, this.#sizes - this.#presentBytes);
  }

  get #freedInTime(): number {
    return Math.max(0, this.#replacedBytes - this.#largestReplaced - REPLACED_AHEAD_BYTES);
  }
}
