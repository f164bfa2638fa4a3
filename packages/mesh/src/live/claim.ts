/**
 * What a process shows to be the member with an id. The incarnation tells successive processes of an id apart. Two processes
 * that join at once through different members can choose the same incarnation; then the instance decides.
 */
export interface Claim {
  /** From 1; the incarnations of an id grow. */
  readonly incarnation: number;
  /** Random, different in each process: 32 hexadecimal digits. */
  readonly instance: string;
}

/** Positive: the first claim is newer. 0: the same process. */
export function compareClaims(one: Claim, other: Claim): number {
  if (one.incarnation !== other.incarnation) return one.incarnation - other.incarnation;
  if (one.instance === other.instance) return 0;
  return one.instance > other.instance ? 1 : -1;
}

/**
 * The incarnation of a new process. No clock is asked: one that was set back would give a lower number than that of a process
 * that still runs.
 *
 * @param kept the last one in the member's directory; 0: none
 * @param known the last one in the roster that the process has learned; 0: none
 */
export function nextIncarnation(kept: number, known: number): number {
  return Math.max(kept, known) + 1;
}
