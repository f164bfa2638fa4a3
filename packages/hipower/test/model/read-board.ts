import type { ModelMemory } from '@rdmc/testing';

/** A READ: its state, the bits it saw, and whether it saw the end flag. Words of one READ are of different times. */
const READ_WORDS = 3;
const ReadState = { NONE: 0, ISSUED: 1, SAMPLED_BITS: 2, SAMPLED_END: 3, SAMPLED: 4 } as const;

/** What a READ returned. */
interface ReadResult {
  readonly bits: number;
  readonly hasEnded: boolean;
}

/** The outstanding READs of one side: of the bits of a board, and on the responder's side also of the end flag. */
export class ReadBoard {
  readonly #reads: Int32Array;

  /** `name` is in the names of the steps; `readsEnd`: a READ also reads the end flag, before or after the bits. */
  constructor(
    memory: ModelMemory,
    private readonly count: number,
    private readonly name: string,
    private readonly readsEnd: boolean,
  ) {
    this.#reads = memory.take(READ_WORDS * count);
  }

  get hasFree(): boolean {
    return this.#free() >= 0;
  }

  /** More than one is outstanding only in a wrong variant: then the machine's own guard is bypassed. */
  issue(begin: () => boolean): void {
    if (!begin() && this.count === 1) return;
    this.#reads[this.#free() * READ_WORDS] = ReadState.ISSUED;
  }

  addSteps(add: (possible: boolean, step: string) => void): void {
    for (let i = 0; i < this.count; i += 1) {
      const state = this.#reads[i * READ_WORDS];
      add(state === ReadState.ISSUED || state === ReadState.SAMPLED_END, `sample${this.name} ${i}`);
      const mayReadEnd = state === ReadState.ISSUED || state === ReadState.SAMPLED_BITS;
      add(this.readsEnd && mayReadEnd, `sampleEnd${this.name} ${i}`);
      add(state === ReadState.SAMPLED, `return${this.name} ${i}`);
    }
  }

  sample(i: number, bits: number): void {
    const at = i * READ_WORDS;
    const isWhole = !this.readsEnd || this.#reads[at] === ReadState.SAMPLED_END;
    this.#reads[at] = isWhole ? ReadState.SAMPLED : ReadState.SAMPLED_BITS;
    this.#reads[at + 1] = bits;
  }

  sampleEnd(i: number, hasEnded: boolean): void {
    const at = i * READ_WORDS;
    const isWhole = this.#reads[at] === ReadState.SAMPLED_BITS;
    this.#reads[at] = isWhole ? ReadState.SAMPLED : ReadState.SAMPLED_END;
    this.#reads[at + 2] = hasEnded ? 1 : 0;
  }

  /** Ends a READ that has read everything. */
  return(i: number): ReadResult {
    const at = i * READ_WORDS;
    const [, bits, ended] = this.#reads.subarray(at, at + READ_WORDS);
    this.#reads.fill(0, at, at + READ_WORDS);
    return { bits: bits!, hasEnded: ended === 1 };
  }

  clear(): void {
    this.#reads.fill(0);
  }

  #free(): number {
    for (let i = 0; i < this.count; i += 1) if (this.#reads[i * READ_WORDS] === ReadState.NONE) return i;
    return -1;
  }
}
