/** How the queue pair of a neighbour has failed: not at all; by itself; or because a relay waited for one that failed. */
export type Break = 'none' | 'own' | 'wait';

/** The neighbours of a member whose device relays. */
export interface RelayingPairs {
  breakOf(pair: number): Break;
  /** The neighbours for whose blocks relays to that one wait, or waited when its queue pair failed. */
  sourcesOf(pair: number): readonly number[];
}

/**
 * The neighbour whose queue pair failed by itself, where a request to `pair` failed: it, or one for whose blocks relays to it
 * waited, over any number of steps. Two members that exchange blocks wait for each other, so the steps can form a circle.
 */
export function originOf(pair: number, pairs: RelayingPairs): number {
  const seen = new Set<number>();
  const search = (at: number): number | undefined => {
    seen.add(at);
    if (pairs.breakOf(at) === 'own') return at;
    for (const source of pairs.sourcesOf(at)) {
      if (seen.has(source) || pairs.breakOf(source) === 'none') continue;
      const origin = search(source);
      if (origin !== undefined) return origin;
    }
    return undefined;
  };
  return search(pair) ?? pair;
}
