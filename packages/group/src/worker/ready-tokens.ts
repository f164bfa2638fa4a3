/** Limits the receives that are announced and not filled. They are announced in the order in which they were posted. */
export class ReadyTokens {
  /** The pairs of posted receives that are not announced. */
  readonly #waiting: number[] = [];
  #free: number;

  constructor(tokens: number) {
    this.#free = tokens;
  }

  posted(pair: number): void {
    this.#waiting.push(pair);
  }

  /** An announced receive was filled. */
  arrived(): void {
    this.#free += 1;
  }

  /** The pair of the next receive to announce, which takes a token; `undefined` while there is not any. */
  next(): number | undefined {
    if (this.#free === 0) return undefined;
    const pair = this.#waiting.shift();
    if (pair !== undefined) this.#free -= 1;
    return pair;
  }
}
