/** What the choice of segments to clean depends on. */
export interface CleaningCandidate {
  /** Live bytes, headers included. */
  readonly liveBytes: number;
  readonly ageMs: number;
}

/** At most this many segments are cleaned at once. */
const MOST = 64;

/**
 * Which segments to clean, best first: cost-benefit as in LFS (Rosenblum, Ousterhout 1992) and RAMCloud (SOSP
 * 2011): (1 − u) · age / (1 + u), u the live part of a segment. Old segments are cleaned fuller than young ones, whose
 * data is likely to die by itself.
 *
 * Takes so many that what is live of them fits into `survivors` segments; those without anything live come for nothing.
 * Empty when not one segment would be won.
 */
export function chooseSegments<T extends CleaningCandidate>(
  candidates: readonly T[],
  segmentBytes: number,
  survivors: number,
): T[] {
  const score = ({ liveBytes, ageMs }: T): number => {
    const u = liveBytes / segmentBytes;
    return ((1 - u) * (ageMs + 1)) / (1 + u);
  };
  const chosen: T[] = [];
  let live = 0;
  for (const candidate of [...candidates].sort((a, b) => score(b) - score(a))) {
    if (chosen.length === MOST) break;
    if (live + candidate.liveBytes > survivors * segmentBytes) continue;
    live += candidate.liveBytes;
    chosen.push(candidate);
  }
  return best(chosen, segmentBytes);
}

/** Fewest survivors for most segments: leaves out the fullest where they win nothing. */
function best<T extends CleaningCandidate>(chosen: readonly T[], segmentBytes: number): T[] {
  const byFullness = [...chosen].sort((a, b) => a.liveBytes - b.liveBytes);
  let most = 0;
  let count = 0;
  let live = 0;
  byFullness.forEach(({ liveBytes }, index) => {
    live += liveBytes;
    const won = index + 1 - Math.ceil(live / segmentBytes);
    if (won <= most) return;
    most = won;
    count = index + 1;
  });
  return byFullness.slice(0, count);
}
