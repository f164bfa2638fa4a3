/** Properties of a segment that decide whether it is cleaned. */
export interface CleaningCandidate {
  /** Live bytes, headers included. */
  readonly liveBytes: number;
  readonly ageMs: number;
}

/** Limit of segments in one round of cleaning. */
const MAX_SEGMENTS_PER_ROUND = 64;

/**
 * Chooses the segments to clean, best first: cost-benefit as in LFS (Rosenblum, Ousterhout 1992) and RAMCloud (SOSP
 * 2011): (1 − u) · age / (1 + u), where u is the live fraction of a segment. Old segments are cleaned at a higher u
 * than young ones, whose data is likely to become dead without cleaning.
 *
 * The live entries of the chosen segments fit into `survivors` segments; segments without live entries do not count.
 * Empty when cleaning would not free a single segment.
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
    if (chosen.length === MAX_SEGMENTS_PER_ROUND) break;
    if (live + candidate.liveBytes > survivors * segmentBytes) continue;
    live += candidate.liveBytes;
    chosen.push(candidate);
  }
  return best(chosen, segmentBytes);
}

/** Most segments for the fewest survivors: leaves out the fullest ones where they do not free a segment. */
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
