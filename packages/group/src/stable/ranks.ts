/** Sets of ranks, as bits of an unsigned 32-bit number: rank r is bit r. */

/** The most members of a group with stable delivery: a set has a bit for each. */
export const MAX_RANKS = 32;

export function setOf(...ranks: readonly number[]): number {
  return ranks.reduce((set, rank) => (set | (1 << rank)) >>> 0, 0);
}

export function has(set: number, rank: number): boolean {
  return ((set >>> rank) & 1) === 1;
}

/** The ranks below `count`. */
export function ranksBelow(count: number): number {
  return count >= MAX_RANKS ? 0xffff_ffff : (1 << count) - 1;
}

export function union(one: number, other: number): number {
  return (one | other) >>> 0;
}

/** The ranks of `one` that are not in `other`. */
export function without(one: number, other: number): number {
  return (one & ~other) >>> 0;
}

export function contains(set: number, part: number): boolean {
  return without(part, set) === 0;
}

/** The ranks of a set, ascending. */
export function ranksOf(set: number): number[] {
  const ranks: number[] = [];
  for (let rank = 0; rank < MAX_RANKS; rank += 1) if (has(set, rank)) ranks.push(rank);
  return ranks;
}
