/** Bitmaps are Int32Arrays: slot s is bit `s & 31` of word `s >> 5`. */

export function wordsFor(slots: number): number {
  return (slots + 31) >> 5;
}

/** The bits of word `word` that belong to a slot. */
export function validBits(word: number, slots: number): number {
  const left = slots - word * 32;
  return left >= 32 ? -1 : (1 << left) - 1;
}

/** Index of the lowest bit that is set; `word` is not 0. */
export function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}

export function bitOf(slot: number): number {
  return 1 << (slot & 31);
}

/** The least power of two that is not below `least`. */
export function powerOfTwo(least: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, least)));
}
