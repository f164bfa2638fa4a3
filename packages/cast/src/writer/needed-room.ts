/** The room that the files which a receiver lacks take on its disk, as far as it is known after the comparison. */
export class NeededRoom {
  #sizes = 0;
  #presentBytes = 0;

  /** A file that it lacks. */
  add(size: number): void {
    this.#sizes += size;
  }

  /** So much of a file that it lacks is on disk already, and stays in its place. */
  addPresent(diskBytes: number): void {
    this.#presentBytes += diskBytes;
  }

  /** Bytes on disk of these files. */
  get presentBytes(): number {
    return this.#presentBytes;
  }

  /** Bytes that must be free for the rest of them. */
  get missingBytes(): number {
    return Math.max(0, this.#sizes - this.#presentBytes);
  }
}
