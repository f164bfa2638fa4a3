import type { Transfer } from '@rdmc/schedule';

const CHUNK = 1024;
/** Lists up to this length are kept whole, for further messages with the same number of blocks. */
export const KEPT_LENGTH = 65_536;

/**
 * One member's sends or receives of a schedule, in step order, as two typed arrays (neighbour and block) that are
 * filled as they are read. A list is either kept whole and may be read by many messages, or it slides: then
 * it holds one chunk, and belongs to one reader that does not go back.
 */
export class TransferList {
  #pairs: Uint16Array;
  #blocks: Uint32Array;
  #start = 0;
  #end = 0;
  #source: Iterator<Transfer> | undefined;

  constructor(
    source: Iterable<Transfer>,
    /** The rank at the other end, as an index of neighbours. */
    private readonly pairOf: (transfer: Transfer) => number,
    private readonly keepsAll: boolean,
    /** About how many entries there are: a short list does not need the memory of a long one. */
    expected: number,
  ) {
    const length = Math.min(CHUNK, expected);
    this.#pairs = new Uint16Array(length);
    this.#blocks = new Uint32Array(length);
    this.#source = source[Symbol.iterator]();
  }

  /** Whether there is an entry `index`; makes it readable. */
  has(index: number): boolean {
    while (index >= this.#end && this.#source) this.#fill();
    return index < this.#end;
  }

  /** The neighbour of entry `index`, for which `has` was true. */
  pair(index: number): number {
    return this.#pairs[index - this.#start]!;
  }

  /** The neighbour of entry `index`, or −1 where there is not one, or where it could not be read without leaving others. */
  peek(index: number): number {
    if (index >= this.#end && !this.keepsAll) return -1;
    return this.has(index) ? this.pair(index) : -1;
  }

  block(index: number): number {
    return this.#blocks[index - this.#start]!;
  }

  #fill(): void {
    if (!this.keepsAll) this.#start = this.#end;
    let at = this.#end - this.#start;
    if (at === this.#pairs.length) this.#grow();
    const limit = this.#pairs.length;
    while (at < limit) {
      const { done, value } = this.#source!.next();
      if (done) {
        this.#source = undefined;
        break;
      }
      this.#pairs[at] = this.pairOf(value);
      this.#blocks[at] = value.block;
      at += 1;
    }
    this.#end = this.#start + at;
  }

  #grow(): void {
    const pairs = new Uint16Array(this.#pairs.length * 2);
    const blocks = new Uint32Array(this.#blocks.length * 2);
    pairs.set(this.#pairs);
    blocks.set(this.#blocks);
    this.#pairs = pairs;
    this.#blocks = blocks;
  }
}
