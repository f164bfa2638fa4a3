import { type Kept, survivorsFor } from './cleaning-round.js';
import type { Segment } from './segment.js';

/** Rules of a round of cleaning. */
export interface RoundRules {
  /** The entries to keep of `segments`; `staying` are segments that were considered for the round and left out. */
  measure(segments: readonly Segment[], staying: readonly Segment[]): Promise<Kept[]>;
  /** Of measured segments, those that are best cleaned together. */
  choose(measured: readonly Segment[]): Segment[];
  /** Capacity of one survivor, and limit of their number. */
  readonly survivorBytes: number;
  readonly survivors: number;
}

/**
 * Measures the chosen segments, and returns those that are worth cleaning with the entries to keep; empty if none is.
 *
 * A tombstone is dropped only when all objects that it hides are in segments of this round, so a round that loses a
 * segment is measured again. Then the tombstones of the others may be needed, which may make another segment not worth
 * cleaning, and so on until none is left, although cleaning all of them together would free segments: each of them is
 * the only one that is not empty, and frees nothing by itself. So if the smaller rounds free nothing, the round that
 * freed the most is carried out unchanged.
 */
export async function chooseRound(chosen: readonly Segment[], rules: RoundRules): Promise<Kept[]> {
  const measure = (segments: readonly Segment[]): Promise<Kept[]> =>
    rules.measure(
      segments,
      chosen.filter((segment) => !segments.includes(segment)),
    );
  let most = 0;
  let best: readonly Segment[] = [];
  for (let segments = chosen; segments.length > 0; ) {
    const kept = await measure(segments);
    const worth = worthCleaning(kept, rules);
    if (worth.length === kept.length) return worth;
    const won = freedSegments(kept, rules);
    if (won > most) [most, best] = [won, segments];
    segments = worth.map(({ segment }) => segment);
  }
  if (most === 0) return [];
  const kept = await measure(best);
  return freedSegments(kept, rules) > 0 ? kept : [];
}

/** Chooses again, from measured segments: those that free at least one segment, or none. */
function worthCleaning(kept: readonly Kept[], { choose, survivorBytes }: RoundRules): Kept[] {
  const bySegment = new Map(kept.map((one) => [one.segment, one]));
  const chosen = choose(kept.map(({ segment }) => segment)).map((segment) => bySegment.get(segment)!);
  return survivorsFor(chosen, survivorBytes) < chosen.length ? chosen : [];
}

/** Number of segments that are freed when all of them are cleaned. */
function freedSegments(kept: readonly Kept[], { survivorBytes, survivors }: RoundRules): number {
  const needed = survivorsFor(kept, survivorBytes);
  return needed <= survivors ? kept.length - needed : 0;
}
