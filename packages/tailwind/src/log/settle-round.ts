import { type Kept, survivorsFor } from './cleaning-round.js';
import type { Segment } from './segment.js';

/** What a round of cleaning goes by. */
export interface RoundRules {
  /** What is kept of segments; `staying` are segments that were thought of for the round and are not in it. */
  measure(segments: readonly Segment[], staying: readonly Segment[]): Promise<Kept[]>;
  /** Those of measured segments that are best cleaned together. */
  choose(measured: readonly Segment[]): Segment[];
  /** What one survivor takes, and how many of them there may be. */
  readonly survivorBytes: number;
  readonly survivors: number;
}

/**
 * What is kept of those segments that it is worth to clean, of the ones that looked like it; nothing, if none is.
 *
 * A tombstone is dropped for good when all objects that it hides are in segments of this round, so a round that loses a
 * segment is measured again. Then the tombstones of the others may be needed, which may make one of them not worth it, and
 * so on until none is left, although all together would do: each is the only one that is not empty, and wins nothing by
 * itself. So where the smaller rounds lead nowhere, the one that wins most is carried out as it was.
 */
export async function settle(chosen: readonly Segment[], rules: RoundRules): Promise<Kept[]> {
  const measure = (segments: readonly Segment[]): Promise<Kept[]> =>
    rules.measure(
      segments,
      chosen.filter((segment) => !segments.includes(segment)),
    );
  let most = 0;
  let best: readonly Segment[] = [];
  for (let segments = chosen; segments.length > 0; ) {
    const kept = await measure(segments);
    const worth = worthIt(kept, rules);
    if (worth.length === kept.length) return worth;
    const won = wins(kept, rules);
    if (won > most) [most, best] = [won, segments];
    segments = worth.map(({ segment }) => segment);
  }
  if (most === 0) return [];
  const kept = await measure(best);
  return wins(kept, rules) > 0 ? kept : [];
}

/** Now that it is known what is live: those that win a segment, or none. */
function worthIt(kept: readonly Kept[], { choose, survivorBytes }: RoundRules): Kept[] {
  const bySegment = new Map(kept.map((one) => [one.segment, one]));
  const chosen = choose(kept.map(({ segment }) => segment)).map((segment) => bySegment.get(segment)!);
  return survivorsFor(chosen, survivorBytes) < chosen.length ? chosen : [];
}

/** How many segments there are fewer when all of them are cleaned. */
function wins(kept: readonly Kept[], { survivorBytes, survivors }: RoundRules): number {
  const needed = survivorsFor(kept, survivorBytes);
  return needed <= survivors ? kept.length - needed : 0;
}
