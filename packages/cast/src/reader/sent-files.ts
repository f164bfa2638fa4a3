const BEGUN = 1;
const COMPLETE = 2;

/** Counts the files of a cast that are in streams: once, also where several streams have them. */
export class SentFiles {
  files = 0;
  /** Sum of the sizes of files that are complete in the last stream that had them. */
  bytes = 0;
  readonly #flags: Uint8Array;

  constructor(entries: number) {
    this.#flags = new Uint8Array(entries);
  }

  begin(index: number): void {
    if ((this.#flags[index]! & BEGUN) === 0) this.files += 1;
    this.#flags[index]! |= BEGUN;
  }

  complete(index: number, size: number): void {
    if ((this.#flags[index]! & COMPLETE) === 0) this.bytes += size;
    this.#flags[index]! |= COMPLETE;
  }

  /** It was complete, and has changed since. */
  abandon(index: number, size: number): void {
    if ((this.#flags[index]! & COMPLETE) !== 0) this.bytes -= size;
    this.#flags[index]! &= ~COMPLETE;
  }
}
