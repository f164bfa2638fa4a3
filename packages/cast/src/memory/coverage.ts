/** A range of bytes: from `begin` to the byte before `end`. */
export interface ByteRange {
  /** Offset of the first byte. */
  readonly begin: number;
  /** Offset of the byte behind the last one. */
  readonly end: number;
}

/** Ranges of bytes of a file: sorted, neither empty nor touching each other. Few, because files arrive in order. */
export class Coverage {
  readonly #ranges: ByteRange[] = [];

  constructor(ranges: Iterable<ByteRange> = []) {
    for (const { begin, end } of ranges) this.add(begin, end);
  }

  get ranges(): readonly ByteRange[] {
    return this.#ranges;
  }

  /** How many bytes it has. */
  get bytes(): number {
    return this.#ranges.reduce((sum, { begin, end }) => sum + end - begin, 0);
  }

  add(begin: number, end: number): void {
    if (begin >= end) return;
    // All ranges that touch the new one become one with it.
    const first = this.#firstEndingAt(begin);
    let behind = first;
    let [low, high] = [begin, end];
    for (let range = this.#ranges[behind]; range && range.begin <= end; range = this.#ranges[behind]) {
      low = Math.min(low, range.begin);
      high = Math.max(high, range.end);
      behind += 1;
    }
    this.#ranges.splice(first, behind - first, { begin: low, end: high });
  }

  /** Whether it has all bytes of a range; an empty range has none that could be missing. */
  covers(begin: number, end: number): boolean {
    if (begin >= end) return true;
    const range = this.#ranges[this.#firstEndingAt(end)];
    return range !== undefined && range.begin <= begin;
  }

  /** The parts of a range that it has, in order. */
  within(begin: number, end: number): ByteRange[] {
    const parts: ByteRange[] = [];
    if (begin >= end) return parts;
    for (let at = this.#firstEndingAt(begin + 1); at < this.#ranges.length; at += 1) {
      const range = this.#ranges[at]!;
      if (range.begin >= end) break;
      parts.push({ begin: Math.max(begin, range.begin), end: Math.min(end, range.end) });
    }
    return parts;
  }

  /** The parts of a range that it lacks, in order. */
  missing(begin: number, end: number): ByteRange[] {
    const parts: ByteRange[] = [];
    let at = begin;
    for (const range of this.within(begin, end)) {
      if (at < range.begin) parts.push({ begin: at, end: range.begin });
      at = range.end;
    }
    if (at < end) parts.push({ begin: at, end });
    return parts;
  }

  /** Index of the first range that does not end before `offset`. */
  #firstEndingAt(offset: number): number {
    let [low, high] = [0, this.#ranges.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#ranges[middle]!.end < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
